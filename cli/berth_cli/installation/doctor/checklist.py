"""Runs the checks for the given inputs. Checks that others depend on run first, so the first failure is usually the
cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.pools import resource_of
from berth_cli.installation.doctor.aws_account import AccountUnavailable, AWSAccount, InspectionDenied
from berth_cli.installation.doctor.checks import account as account_checks
from berth_cli.installation.doctor.checks.access import check_access, reaches_berth
from berth_cli.installation.doctor.checks.account import ALLOW_LIST_REMEDY
from berth_cli.installation.doctor.checks.cluster import (
    binder_permissions,
    check_cluster_of,
    check_kubernetes_version,
    check_permissions,
    check_same_cluster,
    check_wake_up,
    watcher_permissions,
)
from berth_cli.installation.doctor.checks.health import check_configuration, check_healthz
from berth_cli.installation.doctor.checks.node_pools import check_node_pools
from berth_cli.installation.doctor.checks.pending_pods import check_pending_pods, check_pool_requests
from berth_cli.installation.doctor.checks.scheduler import (
    check_bound_schedulers,
    check_document,
    check_gang_scheduling,
    check_managed_resources,
    check_transport,
)
from berth_cli.installation.doctor.checks.verbs import check_bind_time, check_latency, check_policy, check_verbs, probe
from berth_cli.installation.doctor.findings import CheckName, Finding, failed, ok, skipped, warning
from berth_cli.installation.doctor.inputs import Inputs
from berth_cli.installation.doctor.scheduler_configuration import SchedulerSide
from berth_cli.installation.extenders import managed_resources_of
from berth_cli.sources.server import Endpoint, json_object
from berth_cli.sources.stack import StackUnavailable

HOW_TO_PROVIDE = {
    CheckName.SCHEDULER: "give --scheduler-config FILE, or --scheduler-configmap NAMESPACE/NAME with --kubeconfig",
    CheckName.MANAGED_RESOURCES: "give --config FILE, --stack NAME, or the address of a running Berth",
    CheckName.ADDRESS: "give --url URL, --stack NAME or the scheduler's configuration",
    CheckName.CLUSTER: "give --kubeconfig FILE",
    CheckName.ACCOUNT: "give --stack NAME",
}

INPUT_ERRORS = {
    CheckName.SCHEDULER: {CheckName.SCHEDULER, CheckName.KUBECONFIG},
    CheckName.MANAGED_RESOURCES: {CheckName.CONFIGURATION, CheckName.STACK},
    CheckName.ADDRESS: {CheckName.CREDENTIALS, CheckName.STACK, CheckName.SCHEDULER},
    CheckName.CLUSTER: {CheckName.KUBECONFIG, CheckName.KUBECONFIG_SECRET},
    CheckName.ACCOUNT: {CheckName.STACK},
}
"""Findings that explain why an input is missing: then the checks that need the input do not ask for it again."""

DEPLOY_REMEDY = "check stack, region and credentials, or deploy the stack again"
# Not "deploy again": CloudFormation restores a deleted resource only if the template changed.
SCHEDULE_REMEDY = "if it was deleted, create it again: docs/how-to/recover.md"
KUBECONFIG_REMEDY = "check whether this kubeconfig is of the cluster, and whether the functions use it"


class Check(NamedTuple):
    """A check. `run`: may raise ClusterUnavailable, AccountUnavailable and StackUnavailable. `remedy`: for the last
    two errors."""

    name: CheckName
    run: Callable[[], Iterable[Finding]]
    remedy: str = DEPLOY_REMEDY


def run_checks(inputs: Inputs, now: Callable[[], float]) -> Iterator[Finding]:
    """Run all checks one by one, so that they do not distort measured times. now: returns seconds since the epoch."""
    yield from inputs.findings
    yield from _run([Check(CheckName.CONFIGURATION, lambda: _configuration_findings(inputs))])
    for group in (_account, _cluster, _scheduler, _address):
        yield from _run(group(inputs, now))


def _run(checks: Iterable[Check]) -> Iterator[Finding]:
    for check in checks:
        try:
            yield from check.run()
        except ClusterUnavailable as error:
            # The remaining checks of this group would fail, too.
            yield failed(check.name, str(error), KUBECONFIG_REMEDY)
            return
        except InspectionDenied as error:
            yield skipped(check.name, str(error), error.remedy)
        except (AccountUnavailable, StackUnavailable) as error:
            yield failed(check.name, str(error), check.remedy)
        except Exception as error:
            message = f"internal error in this check: {type(error).__name__}: {error}"
            yield failed(check.name, message, "report it to the Berth project")


def _configuration_findings(inputs: Inputs) -> Iterator[Finding]:
    configuration = inputs.configuration
    if configuration is None:
        return
    others = list(check_configuration(inputs.running, configuration)) if inputs.is_configuration_given else []
    yield from others or [ok(CheckName.CONFIGURATION, f"valid, profile {configuration.profile}")]


def _account(inputs: Inputs, now: Callable[[], float]) -> Iterator[Check]:
    account = inputs.account
    if account is None:
        yield _not_provided(CheckName.ACCOUNT, inputs)
        return
    if inputs.watcher_mode == "external":
        message = "none: with WatcherMode external berth watch runs without it"
        yield Check(CheckName.SCHEDULE, lambda: [ok(CheckName.SCHEDULE, message)])
    else:
        yield Check(CheckName.SCHEDULE, lambda: account_checks.check_schedule(account), SCHEDULE_REMEDY)
    yield Check(CheckName.TABLE, lambda: _table_findings(account, inputs, now))
    yield Check(CheckName.ALLOW_LIST, lambda: account_checks.check_allow_list(account, now()), ALLOW_LIST_REMEDY)
    yield Check(CheckName.GANGS, lambda: account_checks.check_concurrency(account, inputs.wanted.gangs))
    if inputs.wanted.counting.floating.exist:
        yield Check(CheckName.MANAGED_RESOURCES, lambda: _owed_findings(account.owed(), inputs.wanted.counting))


def _table_findings(account: AWSAccount, inputs: Inputs, now: Callable[[], float]) -> Iterator[Finding]:
    item = account.head()
    yield account_checks.check_table(item)
    if item is None:
        return
    epoch = None
    with suppress(AccountUnavailable, StackUnavailable):
        epoch = account.ledger_epoch()
    periodic = inputs.watcher_mode == "periodic"
    yield account_checks.check_lease(item, now(), periodic=periodic, ledger_epoch=epoch)
    access = inputs.reader or inputs.watcher
    if access is not None and item.head.pointer is not None:
        with suppress(ClusterUnavailable):  # the checks of the cluster report it
            yield check_same_cluster(access, item.head.pointer.observation.cluster_uid)


def _cluster(inputs: Inputs, now: Callable[[], float]) -> Iterator[Check]:
    reader, side = inputs.reader or inputs.watcher or inputs.binder, inputs.scheduler_side
    if reader is None:
        yield _not_provided(CheckName.CLUSTER, inputs)
        return
    yield Check(CheckName.KUBERNETES_VERSION, lambda: [check_kubernetes_version(reader)])
    if inputs.account is None and not inputs.running.is_on_dump:
        yield Check(CheckName.SAME_CLUSTER, lambda: check_cluster_of(inputs.running, reader))
    if inputs.reader is not None:
        own = () if side is None else side.scheduler_names
        yield Check(CheckName.SCHEDULER_NAME, lambda: check_pending_pods(reader, own, now()))
        yield Check(CheckName.NODE_POOLS, lambda: check_node_pools(reader, inputs.wanted))
        if (counting := inputs.wanted.counting).floating.exist:
            yield Check(CheckName.MANAGED_RESOURCES, lambda: check_pool_requests(reader, counting, inputs.wanted.gangs))
    yield Check(CheckName.WATCHER_RIGHTS, lambda: _watcher_findings(inputs))
    yield Check(CheckName.BIND_RIGHTS, lambda: _binder_findings(inputs))


def _watcher_findings(inputs: Inputs) -> Iterator[Finding]:
    watcher = inputs.watcher or inputs.as_running_user(inputs.running.watcher)
    if watcher is None:
        yield _unknown_user(CheckName.WATCHER_RIGHTS, "watcher")
        return
    yield from check_permissions(CheckName.WATCHER_RIGHTS, watcher, watcher_permissions(inputs.wanted))
    yield check_wake_up(watcher, inputs.wanted.node_cache.wake_up)


def _binder_findings(inputs: Inputs) -> Iterator[Finding]:
    binder = inputs.binder or inputs.as_running_user(inputs.running.binder)
    if binder is None:
        yield _unknown_user(CheckName.BIND_RIGHTS, "binder")
    else:
        yield from check_permissions(CheckName.BIND_RIGHTS, binder, binder_permissions(inputs.wanted))


def _unknown_user(check: CheckName, identity: str) -> Finding:
    """Skip the check: an administrator's permissions do not show the function's permissions."""
    remedy = f"give --{identity}-user NAME with an administrator's --kubeconfig"
    return skipped(check, f"the user of the {identity} is unknown", remedy)


def _scheduler(inputs: Inputs, now: Callable[[], float]) -> Iterator[Check]:
    side = inputs.scheduler_side
    if side is None:
        yield _not_provided(CheckName.SCHEDULER, inputs)
        return
    yield Check(CheckName.SCHEDULER, lambda: check_document(side, inputs.address))
    if not side.berth_extenders:
        return
    yield Check(CheckName.URL_PREFIX, lambda: check_transport(side))
    yield Check(CheckName.MANAGED_RESOURCES, lambda: _managed_resources_findings(inputs, side))
    yield Check(CheckName.GANGS, lambda: check_gang_scheduling(side, inputs.wanted.gangs))
    binder, bound = side.binder, inputs.bound_schedulers
    if binder is not None and bound is not None:
        yield Check(CheckName.BIND_VERB, lambda: check_bound_schedulers(side, bound))
    if binder is not None:
        yield Check(CheckName.HTTP_TIMEOUT, lambda: check_bind_time(binder.timeout, inputs.stack_timeout))


def _managed_resources_findings(inputs: Inputs, side: SchedulerSide) -> list[Finding]:
    if inputs.configuration is None and inputs.running.configuration is None:
        return _input_missing(CheckName.MANAGED_RESOURCES, inputs)
    return list(check_managed_resources(side, managed_resources_of(inputs.wanted)))


def _address(inputs: Inputs, now: Callable[[], float]) -> Iterator[Check]:
    endpoint, verbs = inputs.endpoint, inputs.verbs
    if endpoint is None:
        yield _not_provided(CheckName.ADDRESS, inputs)
        return
    field, verb = next(iter(verbs.items()))
    answer = endpoint.verb(verb, probe(field, []))
    yield Check(CheckName.VERBS, lambda: check_access(endpoint, inputs.material, answer, now()))
    if not reaches_berth(answer):
        return
    if inputs.account is None and (inputs.scheduler_side or inputs.reader):
        # The following checks do not apply to a server on a dump.
        yield Check(CheckName.SAME_CLUSTER, lambda: check_cluster_of(inputs.running, None))
    yield Check(CheckName.CACHE, lambda: check_healthz(endpoint))
    if inputs.account is None and inputs.wanted.counting.floating.exist:
        yield Check(CheckName.MANAGED_RESOURCES, lambda: _owed_findings(_owed_in(endpoint), inputs.wanted.counting))
    yield Check(CheckName.VERBS, lambda: check_verbs(endpoint, verbs))
    yield Check(CheckName.HTTP_TIMEOUT, lambda: check_latency(endpoint, verbs, inputs.node_names, inputs.timeout))
    filter_verb = inputs.filter_verb_of_all_pods
    if filter_verb:
        names = inputs.scheduler_names
        yield Check(CheckName.POLICY, lambda: check_policy(endpoint, filter_verb, names, inputs.node_names))


def _owed_in(endpoint: Endpoint) -> Mapping[str, int]:
    found: Any = json_object(endpoint.get("reservations")) or {}
    return {each["pool"]: each["owed"] for each in found.get("pools", ())}


def _owed_findings(owed: Mapping[str, int], counting: Counting) -> Iterator[Finding]:
    remedy = "end pods that `berth reservations list` shows, or raise the capacity: bind refuses all others until then"
    for pool, amount in owed.items():
        if amount and resource_of(pool) in counting.resources:
            yield warning(CheckName.MANAGED_RESOURCES, f"pods hold {amount} of {pool} beyond its capacity", remedy)


def _not_provided(check: CheckName, inputs: Inputs) -> Check:
    return Check(check, lambda: _input_missing(check, inputs))


def _input_missing(check: CheckName, inputs: Inputs) -> list[Finding]:
    reported = {finding.check for finding in inputs.findings}
    return [] if reported & INPUT_ERRORS[check] else [skipped(check, "not given", HOW_TO_PROVIDE[check])]
