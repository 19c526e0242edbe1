"""Checks the scheduler's configuration: whether exactly one scheduler calls Berth, for all nodes and pods, and
securely."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from berth_cli.installation.doctor.findings import CheckName, Finding, failed, ok, skipped, warning
from berth_cli.installation.doctor.scheduler_configuration import Extender, SchedulerSide
from berth_cli.installation.extenders import is_loopback
from berth_cli.installation.kube_scheduler_configuration import DEFAULT_SCHEDULER
from berth_cli.sources.server import without_credentials

DEFAULT_LOCK = "kube-scheduler"


def check_document(side: SchedulerSide, address: str) -> Iterator[Finding]:
    """Check the whole document."""
    yield _extender(side, address)
    yield _percentage(side)
    yield _lock(side)


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
    if not election.leader_elect:
        return warning(
            check,
            "leaderElect: false: two processes of this scheduler would both schedule pods",
            "run only one process, or set leaderElect: true with its own resourceName",
        )
    lock = f"{election.resource_namespace}/{election.resource_name}"
    if DEFAULT_SCHEDULER not in names and election.resource_name == DEFAULT_LOCK:
        return failed(
            check,
            f"{', '.join(names)} shares the lock {lock} with the cluster's own scheduler and waits for it forever",
            "set leaderElection.resourceName to a different name",
        )
    return ok(check, f"the lock is {lock}")


def check_extenders(side: SchedulerSide) -> Iterator[Finding]:
    """Check Berth's extender entries: mode, weight, verbs and failures."""
    for check in (_mode, _weight, _bind, _ignorable):
        yield from check(side)


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


def _weight(side: SchedulerSide) -> Iterator[Finding]:
    scoring = [each for each in side.berth_extenders if each.prioritize_verb]
    if any(each.weight <= 0 for each in scoring):
        yield failed(
            CheckName.WEIGHT,
            "prioritizeVerb without a weight above 0: kube-scheduler does not start (fact 35)",
            "set weight: 1 or more",
        )
    elif scoring:
        counted = ", ".join(f"score x {each.weight * 10}" for each in scoring)
        yield ok(CheckName.WEIGHT, f"added to the scheduler's own scores: {counted} (fact 18)")
    else:
        yield skipped(CheckName.WEIGHT, "no prioritizeVerb: Berth does not score")


def _bind(side: SchedulerSide) -> Iterator[Finding]:
    binders = [each for each in side.configuration.extenders if each.bind_verb]
    if len(binders) > 1:
        yield failed(
            CheckName.BIND_VERB,
            f"{len(binders)} extenders bind: kube-scheduler does not start (fact 35)",
            "keep bindVerb in one of them",
        )
    elif any(each.ignorable for each in side.berth_extenders if each.bind_verb):
        yield failed(
            CheckName.BIND_VERB,
            "an ignorable extender binds: after a failed bind kube-scheduler binds too, and the two race (fact 24)",
            "set ignorable: false, or remove bindVerb",
        )
    else:
        yield ok(CheckName.BIND_VERB, "Berth binds" if side.binder else "the scheduler binds")


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
    parts, tls = urlsplit(entry.url_prefix), entry.tls_config
    yield _scheme(entry)
    if parts.scheme == "https":
        yield _verification(entry)
    if tls is not None and tls.has_half:
        yield failed(
            CheckName.TLS_CONFIG,
            "a client certificate without its key, or a key without its certificate: kube-scheduler does not start",
            "give both certFile and keyFile, or both certData and keyData",
        )
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
    if parts.scheme != "http" or not parts.hostname:
        return failed(CheckName.URL_PREFIX, "not an http or https address", "set it to https://HOST/scheduler")
    if entry.enable_https or entry.tls_config is not None:
        return failed(
            CheckName.URL_PREFIX,
            "http with TLS settings: enableHTTPS does not change the scheme, so nothing is encrypted (fact 36)",
            "use https:// in urlPrefix",
        )
    if is_loopback(parts.hostname):
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
