"""Checks the scheduler's configuration: whether exactly one scheduler calls Berth, for all nodes and pods, securely,
and as counted resources and gangs need it."""

from __future__ import annotations

from collections.abc import Container, Iterator
from urllib.parse import urlsplit

from berth.pods import DEFAULT_SCHEDULER
from berth.scheduling.gangs.gang import GangsConfiguration
from berth_cli.installation.doctor.findings import CheckName, Finding, failed, ok, warning
from berth_cli.installation.doctor.scheduler_configuration import Extender, SchedulerSide
from berth_cli.installation.extenders import (
    SCHEDULERS_REMEDY,
    ManagedResources,
    is_loopback,
    member_waits,
    refused_by_bind,
)
from berth_cli.installation.kube_scheduler_configuration import GANG_BACKOFF_SECONDS
from berth_cli.sources.server import without_credentials

COUNTED, GANGS = CheckName.MANAGED_RESOURCES, CheckName.GANGS
DEFAULT_LOCK = "kube-scheduler"
MIN_TIMEOUT_SECONDS = 5
"""With a shorter timeout, gang members that the scheduler binds a second apart miss each other."""
PRINTED_REMEDY = "use the extenders that `berth scheduler-config --config FILE` prints"


def check_document(side: SchedulerSide, address: str) -> Iterator[Finding]:
    """Check the whole document, and the mode, the verbs and the failure handling of Berth's entries."""
    yield _extender(side, address)
    yield _percentage(side)
    yield _lock(side)
    for check in (_mode, _bind, _ignorable) if side.berth_extenders else ():
        yield from check(side)


def _extender(side: SchedulerSide, address: str) -> Finding:
    listed = ", ".join(without_credentials(each.url_prefix) for each in side.configuration.extenders) or "none"
    if side.berth_extenders:
        addresses = sorted({without_credentials(each.url_prefix) for each in side.berth_extenders})
        return ok(CheckName.EXTENDER, f"{side.source} calls {', '.join(addresses)}")
    wanted = without_credentials(address) if address else "Berth"
    return failed(
        CheckName.EXTENDER,
        f"{side.source} has no extender that calls {wanted}; extenders: {listed}",
        "add the extender that `berth scheduler-config` prints, or give Berth's address with --url",
    )


def _percentage(side: SchedulerSide) -> Finding:
    check, remedy = CheckName.PERCENTAGE_OF_NODES_TO_SCORE, "set percentageOfNodesToScore: 100, and none in profiles"
    for profile in side.configuration.profiles:
        own = profile.percentage_of_nodes_to_score
        found = side.configuration.percentage_of_nodes_to_score if own is None else own
        if found != 100:
            return failed(
                check,
                f"{'not set' if found is None else found} for {profile.scheduler_name}: with 100 nodes or more Berth "
                "is called for some of them only, and a pod that fits on none of these waits (facts 11 and 47)",
                remedy,
            )
    return ok(check, "100: Berth is called for all nodes")


def _lock(side: SchedulerSide) -> Finding:
    check, election = CheckName.LEADER_ELECTION, side.configuration.leader_election
    names = side.scheduler_names
    lock = f"{election.resource_namespace}/{election.resource_name}"
    if election.leader_elect and DEFAULT_SCHEDULER not in names and election.resource_name == DEFAULT_LOCK:
        return failed(
            check,
            f"{', '.join(names)} shares the lock {lock} with the cluster's own scheduler and waits for it forever",
            "set leaderElection.resourceName to a different name",
        )
    return ok(check, f"the lock is {lock}" if election.leader_elect else "leaderElect: false")


def _mode(side: SchedulerSide) -> Iterator[Finding]:
    if all(each.node_cache_capable for each in side.berth_extenders if each.verbs):
        yield ok(CheckName.NODE_CACHE_CAPABLE, "true: node names are sent")
        return
    yield warning(
        CheckName.NODE_CACHE_CAPABLE,
        "false: whole Node objects are sent; calls fail above 6 MB, about 300 to 600 nodes, and kube-scheduler's "
        "resource scores treat every node as empty (fact 13)",
        "set nodeCacheCapable: true",
    )


def _bind(side: SchedulerSide) -> Iterator[Finding]:
    if any(each.ignorable for each in side.berth_extenders if each.bind_verb):
        yield failed(
            CheckName.BIND_VERB,
            "an ignorable extender binds: after a failed bind kube-scheduler binds too, and the two race (fact 24)",
            "set ignorable: false, or remove bindVerb",
        )
    else:
        yield ok(CheckName.BIND_VERB, "Berth binds" if side.binder else "the scheduler binds")


def check_bound_schedulers(side: SchedulerSide, bound: Container[str]) -> Iterator[Finding]:
    """Check that the deployment names all schedulers that call bind. bound: the deployment's names. Yields nothing if
    it does."""
    refusal = refused_by_bind(side.scheduler_names, bound)
    if refusal:
        yield failed(CheckName.BIND_VERB, refusal, SCHEDULERS_REMEDY)


def _ignorable(side: SchedulerSide) -> Iterator[Finding]:
    if any(each.ignorable for each in side.berth_extenders):
        yield warning(
            CheckName.IGNORABLE,
            "true: while Berth is down, pods are placed without its rules (fact 39)",
            "set ignorable: false if the rules must always apply",
        )
    else:
        yield ok(CheckName.IGNORABLE, "false: while Berth is down, its pods wait (fact 39)")


def check_transport(side: SchedulerSide) -> Iterator[Finding]:
    """Check the transport of all entries that call Berth; equal findings are reported once."""
    yield from dict.fromkeys(finding for entry in side.berth_extenders for finding in _transport(entry))


def _transport(entry: Extender) -> Iterator[Finding]:
    parts = urlsplit(entry.url_prefix)
    yield _scheme(entry)
    if parts.scheme == "https":
        yield _verification(entry)
    if parts.password is not None:
        yield warning(
            CheckName.CREDENTIALS,
            "the password is in the urlPrefix: it is visible in a pod's events after any status but 200, and in the "
            "scheduler's log at -v=2 (fact 37)",
            "authenticate by client certificate; until then run kube-scheduler with -v=1",
        )


def _scheme(entry: Extender) -> Finding:
    parts = urlsplit(entry.url_prefix)
    if parts.scheme == "https":
        return ok(CheckName.URL_PREFIX, "https")
    if entry.enable_https or entry.tls_config is not None:
        return failed(
            CheckName.URL_PREFIX,
            "http with TLS settings: enableHTTPS does not change the scheme, so nothing is encrypted (fact 36)",
            "use https:// in urlPrefix",
        )
    if is_loopback(parts.hostname or ""):
        return ok(CheckName.URL_PREFIX, "http, loopback only")
    return warning(
        CheckName.URL_PREFIX, "http: anyone on the network path can read and change requests and responses", "use https"
    )


def _verification(entry: Extender) -> Finding:
    check, tls = CheckName.VERIFICATION, entry.tls_config
    if tls is not None and tls.insecure:
        return failed(check, "tlsConfig.insecure: anyone on the network path can impersonate Berth", "set a CA instead")
    if entry.enable_https and not (tls is not None and tls.has_ca):
        return failed(
            check,
            "enableHTTPS without a CA disables the verification of the server (fact 36)",
            "remove enableHTTPS; for a private CA set tlsConfig.caFile or caData",
        )
    return ok(check, "by tlsConfig's CA" if tls is not None and tls.has_ca else "by the system's root certificates")


def check_managed_resources(side: SchedulerSide, managed: ManagedResources) -> Iterator[Finding]:
    """Check the scheduler's configuration. `managed`: the counted resources in Berth's configuration."""
    listed = {
        each.name: each.ignored_by_scheduler for entry in side.berth_extenders for each in entry.managed_resources
    }
    found = [*_missing_findings(listed, managed), *_gate_findings(side, managed)]
    if found:
        yield from found
    else:
        listed_names = ", ".join(sorted(listed)) or "none"
        yield ok(COUNTED, listed_names if managed.resources or listed else "none, as in Berth's configuration")


def _missing_findings(listed: dict[str, bool], managed: ManagedResources) -> Iterator[Finding]:
    for resource in managed.resources:
        if not resource.ignored_by_scheduler or listed.get(resource.name):
            continue
        yield warning(
            COUNTED,
            f"{resource.name} is counted by Berth but not ignored by the scheduler: nodes without it in `allocatable` "
            "accept no pod that requests it (fact 38)",
            PRINTED_REMEDY,
        )
    for name in sorted(listed.keys() - {each.name for each in managed.resources}):
        if listed[name]:
            yield failed(COUNTED, f"{name} is ignored by the scheduler but not counted by Berth", PRINTED_REMEDY)


def _gate_findings(side: SchedulerSide, managed: ManagedResources) -> Iterator[Finding]:
    """Check managedResources: an extender with this field is called only for pods that request one of them (fact 7)."""
    for_all_pods = [each for each in side.berth_extenders if not each.managed_resources]
    sees_all = any(each.filter_verb or each.prioritize_verb for each in for_all_pods)
    gated = any(each.filter_verb or each.prioritize_verb for each in side.berth_extenders if each.managed_resources)
    if gated and not sees_all and not managed.counts_only:
        yield failed(
            COUNTED,
            "Berth is called only for pods that request one of them, but its policy is for all pods (fact 7)",
            PRINTED_REMEDY,
        )
    limits_bind = side.binder is not None and bool(side.binder.managed_resources)
    if managed.by_annotation and limits_bind:
        message = "pods that request by annotation are not sent to bind, which counts them (fact 7)"
        yield failed(COUNTED, message, PRINTED_REMEDY)
    if managed.rules_about_pods and (limits_bind or side.binder is None):
        called = "only pods that request one of them are sent to bind" if limits_bind else "Berth does not bind"
        yield warning(
            COUNTED,
            f"{called}: rules that depend on other pods are best effort for pods that are created at the same time "
            "(fact 7)",
            PRINTED_REMEDY,
        )
    if (managed.resources or managed.by_annotation) and side.binder is None:
        yield failed(COUNTED, "Berth does not bind, so nothing is counted", PRINTED_REMEDY)
    bound = {each.name for each in side.binder.managed_resources} if side.binder is not None else set()
    for resource in managed.resources if bound else ():
        if resource.name not in bound:
            message = f"pods that request only {resource.name} are not bound by Berth, which counts it"
            yield failed(COUNTED, message, PRINTED_REMEDY)


def check_gang_scheduling(side: SchedulerSide, gangs: GangsConfiguration) -> Iterator[Finding]:
    """Check the scheduler settings that gangs need. Yields nothing if gangs are not enabled."""
    if not gangs.enabled:
        return
    problems = [*_calls(side), *_times(side)]
    yield from problems or [ok(GANGS, "kube-scheduler sends filter and bind every pod")]


def _calls(side: SchedulerSide) -> Iterator[Finding]:
    if not any(entry.filter_verb and not entry.managed_resources for entry in side.berth_extenders):
        yield failed(GANGS, "filter is not called for every pod, so gangs have no plan (fact 7)", PRINTED_REMEDY)
    binder = side.binder
    if binder is None:
        yield failed(GANGS, "Berth does not bind, so the members of a gang are bound one by one", PRINTED_REMEDY)
    elif binder.managed_resources:
        yield failed(
            GANGS,
            "only pods that request a managed resource are sent to bind: the other members of a gang are bound "
            "without it (fact 7)",
            PRINTED_REMEDY,
        )


def _times(side: SchedulerSide) -> Iterator[Finding]:
    binder = side.binder
    if binder is not None and binder.timeout < MIN_TIMEOUT_SECONDS:
        yield warning(
            GANGS,
            f"httpTimeout {binder.http_timeout} lets a member wait {member_waits(binder.timeout):.1f} s in bind for "
            "the others",
            f"set httpTimeout to {MIN_TIMEOUT_SECONDS}s or more",
        )
    longest = side.configuration.pod_max_backoff_seconds
    if longest > GANG_BACKOFF_SECONDS:
        yield warning(
            GANGS,
            f"podMaxBackoffSeconds is {longest}: a gang that did not fit is tried again after up to {longest} s",
            f"set podMaxBackoffSeconds to {GANG_BACKOFF_SECONDS} or less",
        )
