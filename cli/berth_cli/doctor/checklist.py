"""Which checks can be made of what was given, in the order in which a call passes the things they look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from berth.nodecache.cluster import ClusterUnavailable
from berth.scheduling.configuration import BerthConfiguration
from berth_cli.doctor.access.account import Account, AccountUnavailable
from berth_cli.doctor.access.cluster import ClusterAccess
from berth_cli.doctor.checks import account as account_checks
from berth_cli.doctor.checks import cluster as cluster_checks
from berth_cli.doctor.checks.authentication import WayIn, barred
from berth_cli.doctor.checks.cache import healthz
from berth_cli.doctor.checks.certificates import client_certificate, server_certificate
from berth_cli.doctor.checks.latency import bind_time, latency
from berth_cli.doctor.checks.managed_resources import managed_resources
from berth_cli.doctor.checks.scheduler import entries, scheduler
from berth_cli.doctor.checks.transport import transport
from berth_cli.doctor.checks.verbs import ALL, verbs
from berth_cli.doctor.findings import CheckName, Finding, ok, skipped
from berth_cli.doctor.inputs import Inputs
from berth_cli.doctor.runner import Check
from berth_cli.scheduler_config.managed_resources import managed

DEFAULT_TIMEOUT = 5.0

HOW = {
    CheckName.SCHEDULER: "give --scheduler-config FILE, or --scheduler-configmap NAMESPACE/NAME with --kubeconfig",
    CheckName.MANAGED_RESOURCES: "give --config FILE, or --stack NAME",
    CheckName.ADDRESS: "give --url URL, --stack NAME or the scheduler's configuration",
    CheckName.CLUSTER: "give --kubeconfig FILE, or --watcher-kubeconfig and --binder-kubeconfig",
    CheckName.ACCOUNT: "give --stack NAME",
}

GIVEN_AND_NOT_TO_BE_HAD: Mapping[CheckName, frozenset[CheckName]] = {
    CheckName.SCHEDULER: frozenset({CheckName.SCHEDULER, CheckName.KUBECONFIG}),
    CheckName.MANAGED_RESOURCES: frozenset({CheckName.CONFIGURATION, CheckName.STACK}),
    CheckName.ADDRESS: frozenset({CheckName.CREDENTIALS, CheckName.TLS_CONFIG, CheckName.STACK, CheckName.SCHEDULER}),
    CheckName.CLUSTER: frozenset({CheckName.KUBECONFIG, CheckName.KUBECONFIG_SECRET}),
    CheckName.ACCOUNT: frozenset({CheckName.STACK}),
}
"""The findings that already say why it is not here: nobody needs to be told to give it."""


def checks(inputs: Inputs, wall: Callable[[], float]) -> list[Check]:
    """`wall`: seconds since the epoch."""
    found = [Check(CheckName.CONFIGURATION, lambda: _given(inputs))]
    found += _of_scheduler(inputs)
    found += _of_address(inputs, wall)
    found += _of_cluster(inputs)
    found += _of_account(inputs, wall)
    return found


def _of_scheduler(inputs: Inputs) -> Iterator[Check]:
    side = inputs.side
    if side is None:
        yield from _not_given(CheckName.SCHEDULER, inputs)
        return
    yield Check(CheckName.SCHEDULER, lambda: list(scheduler(side, inputs.address)))
    if not side.ours:
        return
    yield Check(CheckName.EXTENDER, lambda: list(entries(side)))
    yield Check(CheckName.URL_PREFIX, lambda: list(transport(side)))
    configuration = inputs.configuration
    if configuration is None:
        yield from _not_given(CheckName.MANAGED_RESOURCES, inputs)
    else:
        yield Check(CheckName.MANAGED_RESOURCES, lambda: list(managed_resources(side, managed(configuration))))
    binder = side.binder
    if binder is not None:
        yield Check(CheckName.HTTP_TIMEOUT, lambda: list(bind_time(binder.timeout, inputs.stack_timeout)))


def _of_address(inputs: Inputs, wall: Callable[[], float]) -> Iterator[Check]:
    endpoint = inputs.endpoint
    if endpoint is None:
        yield from _not_given(CheckName.ADDRESS, inputs)
        return
    named, timeout = _named_verbs(inputs), _timeout(inputs)
    way_in = WayIn(lambda: barred(endpoint, named, by_certificate=bool(inputs.material.certificate)))
    yield Check(CheckName.SERVER_CERTIFICATE, lambda: list(server_certificate(endpoint, wall())))
    yield Check(CheckName.CLIENT_CERTIFICATE, lambda: list(client_certificate(endpoint, inputs.material, wall())))
    yield Check(CheckName.VERBS, lambda: list(way_in.verbs(endpoint, lambda: verbs(endpoint, named))))
    yield Check(
        CheckName.HTTP_TIMEOUT,
        lambda: way_in.past(
            CheckName.HTTP_TIMEOUT,
            lambda: latency(endpoint, named, _nodes(inputs.reader or inputs.watcher), timeout),
        ),
        alone=True,
    )
    yield Check(CheckName.CACHE, lambda: way_in.past(CheckName.CACHE, lambda: healthz(endpoint)))


def _of_cluster(inputs: Inputs) -> Iterator[Check]:
    watcher, binder, configuration = inputs.watcher, inputs.binder, inputs.configuration or BerthConfiguration()
    if watcher is None and binder is None and inputs.reader is None:
        yield from _not_given(CheckName.CLUSTER, inputs)
        return
    if watcher is None:
        yield _nobodys(cluster_checks.WATCHER, "watcher")
    else:
        wanted = cluster_checks.watcher_rights(configuration)
        how = configuration.node_cache.wake_up
        yield Check(
            cluster_checks.WATCHER, lambda: list(cluster_checks.rights(cluster_checks.WATCHER, watcher, wanted))
        )
        yield Check(cluster_checks.WAKE_UP, lambda: list(cluster_checks.wake_up(watcher, how)))
    if binder is None:
        yield _nobodys(cluster_checks.BINDER, "binder")
    else:
        wanted_by_bind = cluster_checks.BINDER_RIGHTS
        yield Check(
            cluster_checks.BINDER, lambda: list(cluster_checks.rights(cluster_checks.BINDER, binder, wanted_by_bind))
        )


def _of_account(inputs: Inputs, wall: Callable[[], float]) -> Iterator[Check]:
    account = inputs.account
    if account is None:
        yield from _not_given(CheckName.ACCOUNT, inputs)
        return
    yield Check(account_checks.TABLE, lambda: list(account_checks.table(account)))
    yield Check(account_checks.LEASE, lambda: _of_head(account, inputs, wall))
    yield Check(account_checks.SCHEDULE, lambda: list(account_checks.schedule(account)))
    yield Check(account_checks.FUNCTIONS, lambda: list(account_checks.functions(account)))
    yield Check(account_checks.ROLES, lambda: list(account_checks.roles(account)))


def _of_head(account: Account, inputs: Inputs, wall: Callable[[], float]) -> list[Finding]:
    try:
        item = account.head()
    except AccountUnavailable:
        item = None
    if item is None:
        return [skipped(account_checks.LEASE, "the table has none: see the check table")]
    found = list(account_checks.lease(item, wall(), periodic=inputs.periodic))
    access = inputs.watcher or inputs.reader
    if access is not None and item.head.pointer is not None:
        found += cluster_checks.same_cluster(access, item.head.pointer.observation.cluster_uid)
    return found


def _named_verbs(inputs: Inputs) -> Mapping[str, str]:
    """As the scheduler's configuration names them, or as they are."""
    if inputs.side is None or not inputs.side.ours:
        return ALL
    return {field: verb for entry in inputs.side.ours for field, verb in entry.verbs.items()}


def _timeout(inputs: Inputs) -> float:
    ours = () if inputs.side is None else inputs.side.ours
    return min((entry.timeout for entry in ours if entry.verbs), default=inputs.stack_timeout or DEFAULT_TIMEOUT)


def _nodes(reader: ClusterAccess | None) -> list[str]:
    try:
        return [] if reader is None else reader.node_names()
    except ClusterUnavailable:
        return []


def _given(inputs: Inputs) -> list[Finding]:
    found = list(inputs.findings)
    if inputs.configuration is not None:
        found.append(ok(CheckName.CONFIGURATION, f"it is valid, of the profile {inputs.configuration.profile}"))
    return found


def _not_given(what: CheckName, inputs: Inputs) -> Iterator[Check]:
    told = {finding.check for finding in inputs.findings}
    if not told & GIVEN_AND_NOT_TO_BE_HAD[what]:
        finding: Sequence[Finding] = [skipped(what, "not given", HOW[what])]
        yield Check(what, lambda: finding)


def _nobodys(check: CheckName, identity: str) -> Check:
    """Not those of whoever runs this: an administrator's rights say nothing about the function's."""
    remedy = f"give --{identity}-kubeconfig FILE, or --{identity}-user NAME with an administrator's --kubeconfig"
    return Check(check, lambda: [skipped(check, f"it is not known who the {identity} is", remedy)])
