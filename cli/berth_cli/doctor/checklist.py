"""Select the checks for the given inputs, in the order in which a request passes the components."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.plugins.custom_plugins.loading import MISSING_REMEDY
from berth_cli.doctor.access.account import Account, AccountUnavailable
from berth_cli.doctor.access.cluster import ClusterAccess, Subject
from berth_cli.doctor.access.running import UNKNOWN, RunningBerth, running_berth
from berth_cli.doctor.checks import account as account_checks
from berth_cli.doctor.checks import cluster as cluster_checks
from berth_cli.doctor.checks.authentication import AccessProbe, probe_access
from berth_cli.doctor.checks.cache import check_configuration, check_healthz
from berth_cli.doctor.checks.certificates import check_client_certificate, check_server_certificate
from berth_cli.doctor.checks.gangs import check_concurrency, check_gang_scheduling, check_waiting_gangs
from berth_cli.doctor.checks.kubernetes_version import CHECK as KUBERNETES_VERSION
from berth_cli.doctor.checks.kubernetes_version import check_kubernetes_version
from berth_cli.doctor.checks.latency import check_bind_time, check_latency
from berth_cli.doctor.checks.managed_resources import check_managed_resources, check_pod_groups
from berth_cli.doctor.checks.pending_pods import check_pending_pods
from berth_cli.doctor.checks.scheduler import check_document, check_extenders
from berth_cli.doctor.checks.transport import check_transport
from berth_cli.doctor.checks.verbs import DEFAULT_VERBS, check_policy, check_verbs
from berth_cli.doctor.findings import CheckName, Finding, Result, ok, skipped
from berth_cli.doctor.inputs import Inputs
from berth_cli.doctor.runner import Check, SharedValue
from berth_cli.doctor.scheduler.scheduler_side import DEFAULT_SCHEDULER, SchedulerSide
from berth_cli.scheduler_config.managed_resources import managed_resources_of

Running = Callable[[], RunningBerth]
"""What runs behind the address: asked once, by the first check that needs it."""

DEFAULT_TIMEOUT = 5.0

HOW_TO_PROVIDE = {
    CheckName.SCHEDULER: "give --scheduler-config FILE, or --scheduler-configmap NAMESPACE/NAME with --kubeconfig",
    CheckName.MANAGED_RESOURCES: "give --config FILE, --stack NAME, or the address of a running Berth",
    CheckName.ADDRESS: "give --url URL, --stack NAME or the scheduler's configuration",
    CheckName.CLUSTER: "give --kubeconfig FILE, or --watcher-kubeconfig and --binder-kubeconfig",
    CheckName.ACCOUNT: "give --stack NAME",
}

INPUT_ERRORS: Mapping[CheckName, frozenset[CheckName]] = {
    CheckName.SCHEDULER: frozenset({CheckName.SCHEDULER, CheckName.KUBECONFIG}),
    CheckName.MANAGED_RESOURCES: frozenset({CheckName.CONFIGURATION, CheckName.STACK}),
    CheckName.ADDRESS: frozenset({CheckName.CREDENTIALS, CheckName.TLS_CONFIG, CheckName.STACK, CheckName.SCHEDULER}),
    CheckName.CLUSTER: frozenset({CheckName.KUBECONFIG, CheckName.KUBECONFIG_SECRET}),
    CheckName.ACCOUNT: frozenset({CheckName.STACK}),
}
"""Findings that already explain why the input is missing, so that no check needs to ask for it."""


def checks(inputs: Inputs, wall: Callable[[], float]) -> list[Check]:
    """All checks. `wall`: clock, seconds since the epoch."""
    endpoint = inputs.endpoint
    running = SharedValue(lambda: UNKNOWN if endpoint is None else running_berth(endpoint))
    found = [Check(CheckName.CONFIGURATION, lambda: _configuration_findings(inputs, running))]
    found += _scheduler_checks(inputs, running)
    found += _address_checks(inputs, running, wall)
    found += _cluster_checks(inputs, running, wall)
    found += _account_checks(inputs, running, wall)
    return found


def _scheduler_checks(inputs: Inputs, running: Running) -> Iterator[Check]:
    side = inputs.scheduler_side
    if side is None:
        yield _not_provided(CheckName.SCHEDULER, inputs)
        return
    yield Check(CheckName.SCHEDULER, lambda: list(check_document(side, inputs.address)))
    if not side.berth_extenders:
        return
    yield Check(CheckName.EXTENDER, lambda: list(check_extenders(side)))
    yield Check(CheckName.URL_PREFIX, lambda: list(check_transport(side)))
    yield Check(CheckName.MANAGED_RESOURCES, lambda: _managed_resources_findings(inputs, side, running))
    yield Check(CheckName.GANGS, lambda: list(check_gang_scheduling(side, _configuration(inputs, running).gangs)))
    binder = side.binder
    if binder is not None:
        yield Check(CheckName.HTTP_TIMEOUT, lambda: list(check_bind_time(binder.timeout, inputs.stack_timeout)))


def _managed_resources_findings(inputs: Inputs, side: SchedulerSide, running: Running) -> list[Finding]:
    """For the given configuration and for the one in use: either may be wrong."""
    known = [each for each in (inputs.configuration, running().configuration) if each is not None]
    if not known:
        return _input_missing(CheckName.MANAGED_RESOURCES, inputs)
    found = dict.fromkeys(
        finding for each in known for finding in check_managed_resources(side, managed_resources_of(each))
    )
    return [each for each in found if each.result is not Result.OK] or list(found)


def _address_checks(inputs: Inputs, running: Running, wall: Callable[[], float]) -> Iterator[Check]:
    endpoint = inputs.endpoint
    if endpoint is None:
        yield _not_provided(CheckName.ADDRESS, inputs)
        return
    verbs_by_field, timeout = _verbs(inputs), _timeout(inputs)
    access = AccessProbe(
        lambda: probe_access(endpoint, verbs_by_field, by_certificate=bool(inputs.material.certificate))
    )
    nodes = SharedValue(lambda: _nodes(inputs.reader or inputs.watcher))
    yield Check(CheckName.SERVER_CERTIFICATE, lambda: list(check_server_certificate(endpoint, wall())))
    yield Check(CheckName.CLIENT_CERTIFICATE, lambda: list(check_client_certificate(endpoint, inputs.material, wall())))
    yield Check(
        CheckName.VERBS, lambda: list(access.run_verbs_check(endpoint, lambda: check_verbs(endpoint, verbs_by_field)))
    )
    yield Check(
        CheckName.HTTP_TIMEOUT,
        lambda: access.run_check(
            CheckName.HTTP_TIMEOUT, lambda: check_latency(endpoint, verbs_by_field, nodes(), timeout)
        ),
        exclusive=True,
    )
    yield Check(CheckName.CACHE, lambda: access.run_check(CheckName.CACHE, lambda: check_healthz(endpoint)))
    yield Check(CheckName.GANGS, lambda: _waiting_gangs(inputs, running, access, wall))
    filter_verb = _filter_verb_of_all_pods(inputs)
    if filter_verb:
        yield Check(
            CheckName.POLICY,
            lambda: access.run_check(
                CheckName.POLICY, lambda: check_policy(endpoint, filter_verb, _scheduler_names(inputs), nodes())
            ),
        )


def _waiting_gangs(inputs: Inputs, running: Running, access: AccessProbe, wall: Callable[[], float]) -> list[Finding]:
    """Nothing where gangs are not enabled."""
    endpoint = inputs.endpoint
    if endpoint is None or not _configuration(inputs, running).gangs.enabled:
        return []
    return access.run_check(CheckName.GANGS, lambda: check_waiting_gangs(endpoint, wall()))


def _cluster_checks(inputs: Inputs, running: Running, wall: Callable[[], float]) -> Iterator[Check]:
    reader = inputs.reader or inputs.watcher or inputs.binder
    side = inputs.scheduler_side
    if inputs.account is None and (side is not None or reader is not None):
        yield Check(cluster_checks.SAME, lambda: list(cluster_checks.check_cluster_of(running(), reader)))
    if reader is None:
        yield _not_provided(CheckName.CLUSTER, inputs)
        return
    yield Check(KUBERNETES_VERSION, lambda: list(check_kubernetes_version(reader)))
    yield Check(
        CheckName.MANAGED_RESOURCES,
        lambda: list(check_pod_groups(reader, managed_resources_of(_configuration(inputs, running)))),
    )
    if inputs.reader is not None:
        caller = inputs.reader
        yield Check(CheckName.SCHEDULER_NAME, lambda: list(check_pending_pods(caller, side, wall())))
    yield Check(cluster_checks.WATCHER, lambda: _watcher_findings(inputs, running))
    yield Check(cluster_checks.BINDER, lambda: _binder_findings(inputs, running))


def _watcher_findings(inputs: Inputs, running: Running) -> list[Finding]:
    watcher = inputs.watcher or _as_running_user(inputs, running().watcher)
    if watcher is None:
        return [_unknown_user(cluster_checks.WATCHER, "watcher")]
    configuration = _configuration(inputs, running)
    wanted = cluster_checks.watcher_permissions(configuration)
    return [
        *cluster_checks.check_permissions(cluster_checks.WATCHER, watcher, wanted),
        *cluster_checks.check_wake_up(watcher, configuration.node_cache.wake_up),
    ]


def _binder_findings(inputs: Inputs, running: Running) -> list[Finding]:
    binder = inputs.binder or _as_running_user(inputs, running().binder)
    if binder is None:
        return [_unknown_user(cluster_checks.BINDER, "binder")]
    wanted = cluster_checks.binder_permissions(_configuration(inputs, running))
    return list(cluster_checks.check_permissions(cluster_checks.BINDER, binder, wanted))


def _as_running_user(inputs: Inputs, user: Subject | None) -> ClusterAccess | None:
    return None if user is None or inputs.reader is None else inputs.reader.as_user(user)


def _configuration(inputs: Inputs, running: Running) -> BerthConfiguration:
    return inputs.configuration or running().configuration or BerthConfiguration()


def _account_checks(inputs: Inputs, running: Running, wall: Callable[[], float]) -> Iterator[Check]:
    account = inputs.account
    if account is None:
        yield _not_provided(CheckName.ACCOUNT, inputs)
        return
    yield Check(account_checks.TABLE, lambda: list(account_checks.check_table(account)))
    yield Check(account_checks.LEASE, lambda: _lease_findings(account, inputs, wall))
    yield Check(account_checks.SCHEDULE, lambda: list(account_checks.check_schedule(account, external=inputs.external)))
    yield Check(account_checks.FUNCTIONS, lambda: list(account_checks.check_functions(account)))
    yield Check(CheckName.GANGS, lambda: list(check_concurrency(account, _configuration(inputs, running).gangs)))
    yield Check(account_checks.ROLES, lambda: list(account_checks.check_roles(account, external=inputs.external)))


def _lease_findings(account: Account, inputs: Inputs, wall: Callable[[], float]) -> list[Finding]:
    try:
        item = account.head()
    except AccountUnavailable:
        item = None
    if item is None:
        return [skipped(account_checks.LEASE, "the table has no lease: see the check table")]
    try:
        ledger_epoch = account.ledger_epoch()
    except AccountUnavailable:
        ledger_epoch = None
    found = list(account_checks.check_lease(item, wall(), periodic=inputs.periodic, ledger_epoch=ledger_epoch))
    access = inputs.watcher or inputs.reader
    if access is not None and item.head.pointer is not None:
        found += cluster_checks.check_same_cluster(access, item.head.pointer.observation.cluster_uid)
    return found


def _verbs(inputs: Inputs) -> Mapping[str, str]:
    """Verbs by field, from the scheduler's configuration or the defaults."""
    if inputs.scheduler_side is None or not inputs.scheduler_side.berth_extenders:
        return DEFAULT_VERBS
    return {field: verb for entry in inputs.scheduler_side.berth_extenders for field, verb in entry.verbs.items()}


def _filter_verb_of_all_pods(inputs: Inputs) -> str:
    """Empty if Berth is asked only about pods that request a managed resource, or not at all (fact 7)."""
    entries = () if inputs.scheduler_side is None else inputs.scheduler_side.berth_extenders
    if not entries:
        return DEFAULT_VERBS["filterVerb"]
    return next((each.filter_verb for each in entries if each.filter_verb and not each.managed_resources), "")


def _scheduler_names(inputs: Inputs) -> tuple[str, ...]:
    side = inputs.scheduler_side
    return (DEFAULT_SCHEDULER,) if side is None else side.scheduler_names


def _timeout(inputs: Inputs) -> float:
    entries = () if inputs.scheduler_side is None else inputs.scheduler_side.berth_extenders
    return min((entry.timeout for entry in entries if entry.verbs), default=inputs.stack_timeout or DEFAULT_TIMEOUT)


def _nodes(reader: ClusterAccess | None) -> list[str]:
    try:
        return [] if reader is None else reader.node_names()
    except ClusterUnavailable:
        return []


def _configuration_findings(inputs: Inputs, running: Running) -> list[Finding]:
    found, configuration = list(inputs.findings), inputs.configuration
    if configuration is None:
        return found if inputs.is_configuration_given else _without_fallback_cause(found, running)
    others = list(check_configuration(running(), configuration)) if inputs.is_configuration_given else []
    return [*found, *(others or [ok(CheckName.CONFIGURATION, f"valid, profile {configuration.profile}")])]


def _without_fallback_cause(findings: list[Finding], running: Running) -> list[Finding]:
    """Without the applied document that cannot be loaded here, if Berth cannot load it either: the check of /healthz
    says why, and what is used instead. Plugins that this command alone lacks are another cause."""

    def is_reported(finding: Finding) -> bool:
        if finding.check != CheckName.CONFIGURATION or finding.result is not Result.FAILED:
            return False
        fallback = running().fallback
        return bool(fallback) and (MISSING_REMEDY not in finding.message or MISSING_REMEDY in fallback)

    return [finding for finding in findings if not is_reported(finding)]


def _not_provided(check: CheckName, inputs: Inputs) -> Check:
    return Check(check, lambda: _input_missing(check, inputs))


def _input_missing(check: CheckName, inputs: Inputs) -> list[Finding]:
    reported = {finding.check for finding in inputs.findings}
    return [] if reported & INPUT_ERRORS[check] else [skipped(check, "not given", HOW_TO_PROVIDE[check])]


def _unknown_user(check: CheckName, identity: str) -> Finding:
    """The caller's permissions are no substitute: an administrator's say nothing about the function's."""
    remedy = f"give --{identity}-kubeconfig FILE, or --{identity}-user NAME with an administrator's --kubeconfig"
    return skipped(check, f"the user of the {identity} is unknown", remedy)
