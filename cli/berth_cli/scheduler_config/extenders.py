"""The `extenders` of a KubeSchedulerConfiguration: address, verbs and options of each entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from berth_cli.scheduler_config.managed_resources import NO_MANAGED_RESOURCES, ManagedResource, ManagedResources

Entry = dict[str, object]


class Verb(StrEnum):
    """The verbs of kube-scheduler's extender API."""

    FILTER = "filter"
    PRIORITIZE = "prioritize"
    BIND = "bind"
    PREEMPT = "preempt"


class Mode(StrEnum):
    """Node data in a request: names only, or whole Node objects (facts 12 and 13)."""

    CACHE = "cache"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtenderOptions:
    """The operator's options for the extender. `tls`: its `tlsConfig`; None for the system's root certificates."""

    url_prefix: str
    verbs: frozenset[Verb] = frozenset(Verb)
    filter_onlyone: bool = False
    weight: int = 1
    mode: Mode = Mode.CACHE
    http_timeout: str = "5s"
    ignorable: bool = False
    managed: ManagedResources = NO_MANAGED_RESOURCES
    tls: Entry | None = None


def extenders(choices: ExtenderOptions) -> list[Entry]:
    """One or two entries: `managedResources` limits all verbs of its entry to pods that request them (fact 7).

    A policy for all pods therefore gets an entry without `managedResources`; the entry that binds has them. Requests by
    annotation would not match that entry, and rules about other pods need every bind: then it has no verbs and only
    makes kube-scheduler ignore the resources.
    `enableHTTPS` is never set: without a CA it disables verification, with a CA it has no effect (fact 36).
    """
    managed = choices.managed
    if not managed.resources:
        return [_entry(choices, choices.verbs)]
    if managed.bind_needs_every_pod:
        return [_entry(choices, choices.verbs), _entry(choices, frozenset(), managed.resources)]
    if managed.counts_only:
        return [_entry(choices, choices.verbs, managed.resources)]
    deciding, counting = choices.verbs - {Verb.BIND}, choices.verbs & {Verb.BIND}
    every_pod = [_entry(choices, deciding)] if deciding else []
    return [*every_pod, _entry(choices, counting, managed.resources)]


def _entry(choices: ExtenderOptions, verbs: frozenset[Verb], managed: Sequence[ManagedResource] = ()) -> Entry:
    entry: Entry = {"urlPrefix": choices.url_prefix}
    if Verb.FILTER in verbs:
        entry["filterVerb"] = "filter_onlyone" if choices.filter_onlyone else "filter"
    # kube-scheduler does not call prioritize for a single node (fact 46).
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
