"""The `extenders` of a KubeSchedulerConfiguration: who is called, for what, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from berth_cli.scheduler_config.managed_resources import NOTHING_MANAGED, Managed, ManagedResource

Entry = dict[str, object]


class Verb(StrEnum):
    """What kube-scheduler can ask an extender."""

    FILTER = "filter"
    PRIORITIZE = "prioritize"
    BIND = "bind"
    PREEMPT = "preempt"


class Mode(StrEnum):
    """What is sent of the nodes: their names, or all of them (facts 12 and 13)."""

    CACHE = "cache"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What an operator decides about the extender.

    tls: the `tlsConfig`, None where the system's roots are enough.
    """

    url_prefix: str
    verbs: frozenset[Verb] = frozenset(Verb)
    filter_onlyone: bool = False
    weight: int = 1
    mode: Mode = Mode.CACHE
    http_timeout: str = "5s"
    ignorable: bool = False
    managed: Managed = NOTHING_MANAGED
    tls: Entry | None = None


def extenders(choices: Choices) -> list[Entry]:
    """One entry, or two: `managedResources` keeps all other pods from every verb of its entry (fact 7).

    So a policy for all pods has an entry of its own, and what counts is done by the entry that binds. A request by
    annotation could not open such an entry: then it calls nothing, and only has the resources ignored.
    `enableHTTPS` is never there: without a CA it switches verification off, with one it does nothing (fact 36).
    """
    managed = choices.managed
    if not managed.resources:
        return [_entry(choices, choices.verbs)]
    if managed.by_annotation:
        return [_entry(choices, choices.verbs), _entry(choices, frozenset(), managed.resources)]
    if managed.only:
        return [_entry(choices, choices.verbs, managed.resources)]
    deciding, counting = choices.verbs - {Verb.BIND}, choices.verbs & {Verb.BIND}
    every_pod = [_entry(choices, deciding)] if deciding else []
    return [*every_pod, _entry(choices, counting, managed.resources)]


def _entry(choices: Choices, verbs: frozenset[Verb], managed: Sequence[ManagedResource] = ()) -> Entry:
    entry: Entry = {"urlPrefix": choices.url_prefix}
    if Verb.FILTER in verbs:
        entry["filterVerb"] = "filter_onlyone" if choices.filter_onlyone else "filter"
    # With one node left it would not be called (fact 46).
    if Verb.PRIORITIZE in verbs and not choices.filter_onlyone:
        entry |= {"prioritizeVerb": "prioritize", "weight": choices.weight}
    if Verb.BIND in verbs:
        entry["bindVerb"] = "bind"
    if Verb.PREEMPT in verbs:
        entry["preemptVerb"] = "preempt"
    entry |= {"nodeCacheCapable": choices.mode is Mode.CACHE, "httpTimeout": choices.http_timeout}
    if choices.tls is not None:
        entry["tlsConfig"] = choices.tls
    if managed:
        entry["managedResources"] = [
            {"name": each.name, "ignoredByScheduler": each.ignored_by_scheduler} for each in managed
        ]
    entry["ignorable"] = choices.ignorable
    return entry
