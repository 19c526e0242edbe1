"""Builds the `extenders` of a KubeSchedulerConfiguration with their counted resources, and explains their options."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address
from urllib.parse import urlsplit

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.installation.kube_scheduler_configuration import GANG_BACKOFF_SECONDS, Entry
from berth_cli.terminal.options import parse_duration

PLUGIN = "ManagedResources"

GANG_BIND_SECONDS = 2.5
"""The part of httpTimeout in seconds that a gang member reserves for its response, one table call, and its Binding."""


@dataclass(frozen=True, slots=True)
class ManagedResource:
    """A resource name with which containers request a counted resource."""

    name: str
    ignored_by_scheduler: bool = True
    is_floating: bool = False


@dataclass(frozen=True, slots=True)
class ManagedResources:
    """The counted resources.

    `counts_only`: the policy has rules only for pods that request one of them. `by_annotation`: pods can request one
    with an annotation, which kube-scheduler ignores. `rules_about_pods`: a rule depends on other pods; for pods that
    are created at the same time it is enforced only if Berth binds all of them. `gangs`: gangs are enabled, so any pod
    may be a member.
    """

    resources: tuple[ManagedResource, ...] = ()
    counts_only: bool = False
    by_annotation: bool = False
    rules_about_pods: bool = False
    gangs: bool = False

    @property
    def bind_needs_every_pod(self) -> bool:
        """Whether bind must also be called for pods that do not request any of them by name."""
        return self.by_annotation or self.rules_about_pods or self.gangs


NO_MANAGED_RESOURCES = ManagedResources()


def managed_resources_of(configuration: BerthConfiguration) -> ManagedResources:
    """Return the counted resources of all profiles. bind counts them even if a profile does not filter by them."""
    counted = configuration.managed_resources
    names = {configuration.profile, *configuration.profiles.values()}
    plugins = {each for name in names for each in configuration.composition(name).plugins}
    return ManagedResources(
        tuple(
            ManagedResource(name, each.ignored_by_scheduler, each.is_floating)
            for each in counted
            if each.requests is None
            for name in each.names
        ),
        counts_only=plugins == {PLUGIN} and not configuration.gangs.enabled,
        by_annotation=any(each.requests is not None for each in counted),
        rules_about_pods=any(configuration.build_profile(name).for_bind().filters for name in names),
        gangs=configuration.gangs.enabled,
    )


class Verb(StrEnum):
    """The verbs of kube-scheduler's extender API."""

    FILTER = "filter"
    PRIORITIZE = "prioritize"
    BIND = "bind"
    PREEMPT = "preempt"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtenderOptions:
    """The operator's options for the extender. `tls`: its `tlsConfig`; None for the system's root certificates."""

    url_prefix: str
    verbs: frozenset[Verb] = frozenset(Verb)
    filter_onlyone: bool = False
    weight: int = 1
    http_timeout: str = "5s"
    managed: ManagedResources = NO_MANAGED_RESOURCES
    tls: Entry | None = None


def extenders(choices: ExtenderOptions) -> list[Entry]:
    """Return one or two entries, because `managedResources` limits all verbs of its entry to pods that request them
    (fact 7). A policy for all pods gets an entry without `managedResources`, and one with them for bind only. But pods
    that request by annotation do not match the second entry, and rules about other pods need bind for every pod. In
    these cases the second entry has no verb; it only makes kube-scheduler ignore the resources. `enableHTTPS` is never
    set: without a CA it disables verification, with a CA it has no effect (fact 36).
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
    entry |= {"nodeCacheCapable": True, "httpTimeout": choices.http_timeout}
    if choices.tls is not None:
        entry["tlsConfig"] = choices.tls
    if managed:
        entry["managedResources"] = [
            {"name": each.name, "ignoredByScheduler": each.ignored_by_scheduler} for each in managed
        ]
    entry["ignorable"] = False
    return entry


def option_notes(choices: ExtenderOptions, *, with_password: bool, second: bool) -> Iterator[str]:
    """Yield the effects of the options, one per line; `berth doctor` checks the rest. `with_password`: whether the
    urlPrefix contains Basic credentials. `second`: whether the scheduler runs in a pod.
    """
    if second and is_loopback(urlsplit(choices.url_prefix).hostname or ""):
        yield "the address is loopback: a second scheduler reaches Berth there only if Berth runs in the same pod"
    if with_password:
        yield (
            "the password is part of the urlPrefix: it is visible in a pod's events after any status but 200, and in "
            "the scheduler's log at -v=2 and above (fact 37); client certificates avoid this"
        )
    if choices.managed.gangs:
        waits = member_waits(parse_duration(choices.http_timeout) or 0.0)
        yield f"gangs: a member waits {waits:.1f} s in bind for the others; large gangs need a longer httpTimeout"
        # The maximum back-off, plus one second until kube-scheduler checks for expired back-offs.
        longest = GANG_BACKOFF_SECONDS + 1
        yield f"gangs: a rejected pod that now fits is retried after up to {longest} s, not 0.1 s (fact 44)"


SCHEDULERS_REMEDY = (
    "name every scheduler that calls bind: in SchedulerNames of the stack, or with --scheduler-name of berth serve"
)


def refused_by_bind(schedulers: Iterable[str], bound: Container[str]) -> str:
    """Return a message if bind refuses the pods of one of these schedulers; otherwise empty. bound: the names that the
    deployment gives to bind."""
    refused = ", ".join(name for name in schedulers if name not in bound)
    return f"bind refuses the pods of {refused}" if refused else ""


def member_waits(http_timeout: float) -> float:
    """Return the number of seconds that a gang member waits in bind for the other members."""
    return max(0.0, http_timeout - GANG_BIND_SECONDS)


def is_loopback(host: str) -> bool:
    """Return whether the host is a loopback address or `localhost`."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
