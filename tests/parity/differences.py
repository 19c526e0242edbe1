"""The differences between two answers to a case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.parity.generator.features import Family
from tests.parity.responder import Answer

ERROR = "error"
"""The rule name of a difference in the error of the cycle."""

BERTHS_OWN = frozenset({"NodeReady"})
"""Plugins that kube-scheduler lacks. All nodes of the cases are ready, so these plugins must not reject any of them."""


@dataclass(frozen=True)
class Difference:
    """A value that differs. `rule`: the kind of value, such as the name of a plugin, without the node."""

    rule: str
    node: str
    wanted: object
    got: object

    def __str__(self) -> str:
        return f"{self.rule} on {self.node or 'all nodes'}: kube-scheduler {self.wanted}, Berth {self.got}"


def differences(family: Family, oracle: Answer, berth: Answer) -> list[Difference]:
    """Return the differences of this family, except preemption: see preemption_differences."""
    found = [*_error(oracle, berth), *_verdicts(oracle, berth)]
    if family is Family.SCORE:
        found.extend(_scores(oracle, berth))
    return found


def still_differ(found: list[Difference], rule: str) -> bool:
    """Return whether a smaller case differs in the rule. A failed side differs in everything and does not count."""
    rules = {difference.rule for difference in found}
    return rule in rules and (rule == ERROR or ERROR not in rules)


def preemption_differences(oracle: Answer, berth: Answer) -> list[Difference]:
    """Return the differences of preemption. Any tied node may be nominated, and equal victims have no fixed order."""
    wanted = _mapping(oracle, "preemption")
    got = _mapping(berth, "preemption")
    found = [
        Difference("preemption candidate", node, ours, theirs)
        for node, ours, theirs in _paired(wanted.get("candidates"), got.get("candidates"))
        if candidate(ours) != candidate(theirs)
    ]
    tied = wanted.get("tied") or [None]
    nominated = got.get("nominated") or None
    if nominated not in tied:
        found.append(Difference("nominated node", "", f"one of {tied}", nominated))
    return found


def candidate(victims: Any) -> object:
    """Return the compared values of a candidate: victims in any order, and the number of budget violations."""
    if not isinstance(victims, Mapping):
        return None
    return sorted(victims.get("victims") or []), victims.get("numPDBViolations")


def _error(oracle: Answer, berth: Answer) -> Iterator[Difference]:
    wanted, got = _head(oracle.get("error")), _head(berth.get("error"))
    if wanted != got:
        yield Difference(ERROR, "", oracle.get("error"), berth.get("error"))


def _head(error: Any) -> str | None:
    """Return the part of an error with the plugin and its extension point; the rest is Go's wording."""
    return str(error).split(": ", 1)[0] if error else None


def _verdicts(oracle: Answer, berth: Answer) -> Iterator[Difference]:
    for node, wanted, got in _paired(oracle.get("verdicts"), berth.get("verdicts")):
        for plugin, ours, theirs in _paired(_mapping(wanted, "all"), _mapping(got, "all")):
            if plugin not in BERTHS_OWN and _status(ours) != _status(theirs):
                yield Difference(plugin, node, _status(ours), _status(theirs))
        first_wanted, first_got = (_plugin(wanted), _status(wanted)), (_plugin(got), _status(got))
        if first_wanted != first_got:
            yield Difference("first plugin that rejects", node, first_wanted, first_got)


def _status(verdict: Any) -> tuple[object, list[str]] | None:
    """Return code and sorted reasons: kube-scheduler's order of extended resources is not fixed."""
    if not isinstance(verdict, Mapping):
        return None
    return verdict.get("code"), sorted(verdict.get("reasons") or [])


def _plugin(verdict: Any) -> object:
    return (verdict.get("plugin") or None) if isinstance(verdict, Mapping) else None


def _scores(oracle: Answer, berth: Answer) -> Iterator[Difference]:
    if not oracle.get("total"):
        return  # fewer than two feasible nodes: kube-scheduler does not score
    for plugin, ours, theirs in _paired(oracle.get("scores"), berth.get("scores")):
        for node, wanted, got in _paired(ours, theirs):
            if wanted != got:
                yield Difference(f"score of {plugin}", node, wanted, got)
    for node, wanted, got in _paired(oracle.get("total"), berth.get("total")):
        if wanted != got:
            yield Difference("total score", node, wanted, got)


def _paired(ours: Any, theirs: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the values of both mappings by key, with None if a mapping lacks the key."""
    first, second = (mapping if isinstance(mapping, Mapping) else {} for mapping in (ours, theirs))
    for key in sorted({*first, *second}):
        yield key, first.get(key), second.get(key)


def _mapping(of: Any, key: str) -> Mapping[str, Any]:
    value = of.get(key) if isinstance(of, Mapping) else None
    return value if isinstance(value, Mapping) else {}
