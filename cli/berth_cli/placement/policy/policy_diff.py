"""The effects of a new policy on pods of any source, and the limits that it must not exceed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import click

from berth.scheduling.reason_code import ReasonCode
from berth_cli.placement.comparison import Comparison, Effect, PodComparison
from berth_cli.placement.report import pods_text
from berth_cli.placement.run import Rule

_LIMIT = re.compile(r"(?P<number>[0-9]{1,9})(?P<per_cent>%?)", re.ASCII)
NEWLY_PENDING = (Effect.NEWLY_PENDING, Effect.EVICTED)
MOVED = (Effect.MOVED,)
NEWLY_PLACED = (Effect.NEWLY_PLACED,)


@dataclass(frozen=True, slots=True)
class Limit:
    """A maximum number of pods, or a maximum percentage of the evaluated pods."""

    number: int
    per_cent: bool = False

    def __str__(self) -> str:
        return f"{self.number}{'%' if self.per_cent else ''}"

    def allows(self, count: int, judged: int) -> bool:
        """Return whether this number of evaluated pods is within the limit."""
        return 100 * count <= self.number * judged if self.per_cent else count <= self.number


MAX_BY_SCORE = 5
"""The maximum number of pods that move to a node with a higher score and are shown one by one."""


@dataclass(frozen=True, slots=True)
class PolicyDiff:
    """The differences between two policies. `judged`: the number of pods that both policies evaluated. `source`:
    describes these pods. `missing`: parts that the policies read and the source lacks, so the comparison may be wrong.
    `repeated`: the number of recorded decisions by the old policy that were repeated; `differing`: how many of them
    differ now.
    """

    comparison: Comparison
    judged: int
    source: str
    missing: tuple[str, ...] = ()
    repeated: int = 0
    differing: int = 0

    def pods(self, effects: tuple[Effect, ...]) -> list[PodComparison]:
        """Return the pods with one of these effects."""
        return [each for each in self.comparison.pods if each.effect in effects]

    @property
    def changed(self) -> list[PodComparison]:
        """The pods that the policies place differently; pods that lose their node are first."""
        order = (NEWLY_PENDING, MOVED, NEWLY_PLACED)
        return [each for effects in order for each in self.pods(effects)]

    @property
    def by_score(self) -> list[PodComparison]:
        """The pods that move only because another node has a higher score; empty if there are at most MAX_BY_SCORE."""
        found = [each for each in self.pods(MOVED) if each.cause is not None and not each.cause.plugin]
        return found if len(found) > MAX_BY_SCORE else []

    @property
    def listed(self) -> list[PodComparison]:
        """The changed pods that are shown one by one."""
        grouped = {each.pod for each in self.by_score}
        return [each for each in self.changed if each.pod not in grouped]

    @property
    def rejecting_rules(self) -> list[Rule]:
        """The rules that reject nodes for newly pending pods, each with the number of these pods."""
        return _counted(
            (rule.plugin, rule.reason, rule.code) for each in self.pods(NEWLY_PENDING) for rule in each.after.rules
        )

    @property
    def moving_rules(self) -> list[Rule]:
        """The reasons why moved pods are not on their earlier nodes, each with the number of these pods."""
        causes = (each.cause for each in self.pods(MOVED))
        return _counted((cause.plugin, cause.reason, cause.code) for cause in causes if cause is not None)


def _counted(rules: Iterable[tuple[str, str, ReasonCode | None]]) -> list[Rule]:
    counted = sorted(Counter(rules).items(), key=lambda item: (-item[1], item[0][:2]))
    return [Rule(plugin, reason, count, code) for (plugin, reason, code), count in counted]


def limit_violations(diff: PolicyDiff, pending: Limit | None, moved: Limit | None) -> Iterator[str]:
    """Yield one line for each limit that the new policy exceeds. None: no limit."""
    for text, limit, effects in (("newly pending", pending, NEWLY_PENDING), ("moved", moved, MOVED)):
        count = len(diff.pods(effects))
        if limit is not None and not limit.allows(count, diff.judged):
            yield f"{count} of {pods_text(diff.judged)} {text}, at most {limit} allowed"


def read_limit(_: click.Context | None, __: click.Parameter | None, text: str | None) -> Limit | None:
    """Parse an option: a number of pods, or a percentage, `5` or `5%`. Raises BadParameter."""
    if text is None:
        return None
    found = _LIMIT.fullmatch(text)
    if found is None:
        raise click.BadParameter(f"{text!r} is neither a number of pods nor per cent, such as 5 or 5%")
    return Limit(int(found["number"]), bool(found["per_cent"]))


def missing_texts(diff: PolicyDiff) -> list[str]:
    """Return warnings: one for each part that the source lacks, and one if repeated decisions differ."""
    found = [f"the policies are judged without {each}: the recording does not have them" for each in diff.missing]
    if diff.differing:
        found.append(f"{diff.differing} of {diff.repeated} decisions of the old policy are not the same again")
    return found


def headline(diff: PolicyDiff) -> str:
    """Summarize the effects of the new policy in one line."""
    lost, moved, gained = (len(diff.pods(each)) for each in (NEWLY_PENDING, MOVED, NEWLY_PLACED))
    return f"{lost} newly pending, {moved} moved, {gained} newly placed"
