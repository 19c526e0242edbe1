"""Select the checks for the given inputs, in the order in which a request passes the components."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.doctor.access.account import Account, AccountUnavailable
from berth_cli.doctor.access.cluster import ClusterAccess
from berth_cli.doctor.checks import account as account_checks
from berth_cli.doctor.checks import cluster as cluster_checks
from berth_cli.doctor.checks.authentication import AccessProbe, probe_access
from berth_cli.doctor.checks.cache import check_healthz
from berth_cli.doctor.checks.certificates import check_client_certificate, check_server_certificate
from berth_cli.doctor.checks.latency import check_bind_time, check_latency
from berth_cli.doctor.checks.managed_resources import check_managed_resources, check_pod_groups
from berth_cli.doctor.checks.scheduler import check_document, check_extenders
from berth_cli.doctor.checks.transport import check_transport
from berth_cli.doctor.checks.verbs import DEFAULT_VERBS, check_verbs
from berth_cli.doctor.findings import CheckName, Finding, ok, skipped
from berth_cli.doctor.inputs import Inputs
from berth_cli.doctor.runner import Check
from berth_cli.scheduler_config.managed_resources import managed_resources_of

DEFAULT_TIMEOUT = 5.0

HOW_TO_PROVIDE = {
    CheckName.SCHEDULER: "give --scheduler-config FILE, or --scheduler-configmap NAMESPACE/NAME with --kubeconfig",
    CheckName.MANAGED_RESOURCES: "give --config FILE, or --stack NAME",
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
    found = [Check(CheckName.CONFIGURATION, lambda: _input_findings(inputs))]
    found += _scheduler_checks(inputs)
    found += _address_checks(inputs, wall)
    found += _cluster_checks(inputs)
    found += _account_checks(inputs, wall)
    return found


def _scheduler_checks(inputs: Inputs) -> Iterator[Check]:
    side = inputs.scheduler_side
    if side is None:
        yield from _not_provided(CheckName.SCHEDULER, inputs)
        return
    yield Check(CheckName.SCHEDULER, lambda: list(check_document(side, inputs.address)))
    if not side.berth_extenders:
        return
    yield Check(CheckName.EXTENDER, lambda: list(check_extenders(side)))
    yield Check(CheckName.URL_PREFIX, lambda: list(check_transport(side)))
    configuration = inputs.configuration
    if configuration is None:
        yield from _not_provided(CheckName.MANAGED_RESOURCES, inputs)
    else:
        yield Check(
            CheckName.MANAGED_RESOURCES,
            lambda: list(check_managed_resources(side, managed_resources_of(configuration))),
        )
    binder = side.binder
    if binder is not None:
        yield Check(CheckName.HTTP_TIMEOUT, lambda: list(check_bind_time(binder.timeout, inputs.stack_timeout)))


def _address_checks(inputs: Inputs, wall: Callable[[], float]) -> Iterator[Check]:
    endpoint = inputs.endpoint
    if endpoint is None:
        yield from _not_provided(CheckName.ADDRESS, inputs)
        return
    verbs_by_field, timeout = _verbs(inputs), _timeout(inputs)
    access = AccessProbe(
        lambda: probe_access(endpoint, verbs_by_field, by_certificate=bool(inputs.material.certificate))
    )
    yield Check(CheckName.SERVER_CERTIFICATE, lambda: list(check_server_certificate(endpoint, wall())))
    yield Check(CheckName.CLIENT_CERTIFICATE, lambda: list(check_client_certificate(endpoint, inputs.material, wall())))
    yield Check(
        CheckName.VERBS, lambda: list(access.run_verbs_check(endpoint, lambda: check_verbs(endpoint, verbs_by_field)))
    )
    yield Check(
        CheckName.HTTP_TIMEOUT,
        lambda: access.run_check(
            CheckName.HTTP_TIMEOUT,
            lambda: check_latency(endpoint, verbs_by_field, _nodes(inputs.reader or inputs.watcher), timeout),
        ),
        exclusive=True,
    )
    yield Check(CheckName.CACHE, lambda: access.run_check(CheckName.CACHE, lambda: check_healthz(endpoint)))


def _cluster_checks(inputs: Inputs) -> Iterator[Check]:
    watcher, binder, configuration = inputs.watcher, inputs.binder, inputs.configuration or BerthConfiguration()
    if watcher is None and binder is None and inputs.reader is None:
        yield from _not_provided(CheckName.CLUSTER, inputs)
        return
    reader = inputs.reader or watcher or binder
    if reader is not None:
        counted = managed_resources_of(configuration)
        yield Check(CheckName.MANAGED_RESOURCES, lambda: list(check_pod_groups(reader, counted)))
    if watcher is None:
        yield _unknown_user(cluster_checks.WATCHER, "watcher")
    else:
        wanted = cluster_checks.watcher_permissions(configuration)
        mode = configuration.node_cache.wake_up
        yield Check(
            cluster_checks.WATCHER,
            lambda: list(cluster_checks.check_permissions(cluster_checks.WATCHER, watcher, wanted)),
        )
        yield Check(cluster_checks.WAKE_UP, lambda: list(cluster_checks.check_wake_up(watcher, mode)))
    if binder is None:
        yield _unknown_user(cluster_checks.BINDER, "binder")
    else:
        bind_permissions = cluster_checks.binder_permissions(configuration)
        yield Check(
            cluster_checks.BINDER,
            lambda: list(cluster_checks.check_permissions(cluster_checks.BINDER, binder, bind_permissions)),
        )


def _account_checks(inputs: Inputs, wall: Callable[[], float]) -> Iterator[Check]:
    account = inputs.account
    if account is None:
        yield from _not_provided(CheckName.ACCOUNT, inputs)
        return
    yield Check(account_checks.TABLE, lambda: list(account_checks.check_table(account)))
    yield Check(account_checks.LEASE, lambda: _lease_findings(account, inputs, wall))
    yield Check(account_checks.SCHEDULE, lambda: list(account_checks.check_schedule(account, external=inputs.external)))
    yield Check(account_checks.FUNCTIONS, lambda: list(account_checks.check_functions(account)))
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


def _timeout(inputs: Inputs) -> float:
    entries = () if inputs.scheduler_side is None else inputs.scheduler_side.berth_extenders
    return min((entry.timeout for entry in entries if entry.verbs), default=inputs.stack_timeout or DEFAULT_TIMEOUT)


def _nodes(reader: ClusterAccess | None) -> list[str]:
    try:
        return [] if reader is None else reader.node_names()
    except ClusterUnavailable:
        return []


def _input_findings(inputs: Inputs) -> list[Finding]:
    found = list(inputs.findings)
    if inputs.configuration is not None:
        found.append(ok(CheckName.CONFIGURATION, f"valid, profile {inputs.configuration.profile}"))
    return found


def _not_provided(check: CheckName, inputs: Inputs) -> Iterator[Check]:
    reported = {finding.check for finding in inputs.findings}
    if not reported & INPUT_ERRORS[check]:
        finding: Sequence[Finding] = [skipped(check, "not given", HOW_TO_PROVIDE[check])]
        yield Check(check, lambda: finding)


def _unknown_user(check: CheckName, identity: str) -> Check:
    """The caller's permissions are no substitute: an administrator's say nothing about the function's."""
    remedy = f"give --{identity}-kubeconfig FILE, or --{identity}-user NAME with an administrator's --kubeconfig"
    return Check(check, lambda: [skipped(check, f"the user of the {identity} is unknown", remedy)])
