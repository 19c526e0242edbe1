"""All that the checks look at. What was not given is None; what was given and cannot be had is a finding."""

from __future__ import annotations

from dataclasses import dataclass, field

import click

from berth.nodecache.configurations import ConfigurationInvalid
from berth.scheduling.configuration import BerthConfiguration
from berth_cli.config.document import load_configuration
from berth_cli.deployed_stack import URL_PREFIX, DeployedStack, StackUnavailable, describe
from berth_cli.doctor.access.account import Account
from berth_cli.doctor.access.aws_account import AWSAccount
from berth_cli.doctor.access.cluster import ClusterAccess
from berth_cli.doctor.access.credentials import (
    NO_MATERIAL,
    CredentialsAbsent,
    CredentialsUnreadable,
    TLSMaterial,
    material,
)
from berth_cli.doctor.access.endpoint import Endpoint
from berth_cli.doctor.access.https_endpoint import HTTPSEndpoint
from berth_cli.doctor.findings import CheckName, Finding, failed, skipped
from berth_cli.doctor.identities import BINDER, WATCHER, access, identity
from berth_cli.doctor.options import Attempts, Named
from berth_cli.doctor.scheduler import configuration_source as scheduler_source
from berth_cli.doctor.scheduler.scheduler_side import SchedulerSide, scheduler_side, shown
from berth_cli.scheduler_config.address import Basic, checked, url_prefix
from berth_cli.scheduler_config.basic_credentials import STACK, NoPassword, basic
from berth_cli.scheduler_config.inputs import configuration_in_force


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """`address`: Berth's, where it was named. reader: the cluster as who runs the command. watcher, binder: as those
    functions. stack_timeout: the template's HttpTimeoutSeconds. periodic: the stack's watcher lists once a minute."""

    findings: tuple[Finding, ...] = ()
    side: SchedulerSide | None = None
    address: str = ""
    endpoint: Endpoint | None = None
    material: TLSMaterial = field(default=NO_MATERIAL, repr=False)
    configuration: BerthConfiguration | None = None
    account: Account | None = None
    stack_timeout: float | None = None
    periodic: bool = False
    reader: ClusterAccess | None = None
    watcher: ClusterAccess | None = None
    binder: ClusterAccess | None = None


def gather(named: Named) -> Inputs:
    """Raises NotAnAddress, and nothing else."""
    attempts = Attempts()
    stack = _stack(attempts, named)
    reader = access(attempts, named, named.kubeconfig)
    address = _address(attempts, named, stack)
    side = _side(attempts, named, reader, address)
    endpoint, shown = _endpoint(attempts, named, side, address, stack)
    watcher = identity(attempts, named, stack, WATCHER)
    binder = identity(attempts, named, stack, BINDER)
    parameters = {} if stack is None else stack.parameters
    account: Account | None = None if stack is None else AWSAccount(stack)
    return Inputs(
        side=side,
        address=address,
        endpoint=endpoint,
        material=shown,
        configuration=_configuration(attempts, named, stack),
        account=account,
        stack_timeout=float(parameters["HttpTimeoutSeconds"]) if "HttpTimeoutSeconds" in parameters else None,
        periodic=parameters.get("WatcherMode") == "periodic",
        reader=reader,
        watcher=watcher,
        binder=binder,
        findings=tuple(dict.fromkeys(attempts.findings)),
    )


def _stack(attempts: Attempts, named: Named) -> DeployedStack | None:
    name = named.stack
    if name is None:
        return None
    return attempts.attempt(
        CheckName.STACK, "see whether name, region and credentials are right", lambda: describe(name, named.region)
    )


def _address(attempts: Attempts, named: Named, stack: DeployedStack | None) -> str:
    """As it was named, without credentials."""
    url = named.url
    if url is not None:
        checked(url)
        return url
    if stack is None:
        return ""
    return attempts.attempt(CheckName.STACK, "name a stack of Berth's", lambda: stack.output(URL_PREFIX)) or ""


def _side(attempts: Attempts, named: Named, reader: ClusterAccess | None, address: str) -> SchedulerSide | None:
    path, place = named.scheduler_config, named.scheduler_configmap
    check, remedy = (
        CheckName.SCHEDULER,
        "kube-scheduler does not start with it: take what `berth scheduler-config` prints",
    )
    if path is not None:
        document = attempts.attempt(check, remedy, lambda: scheduler_source.from_file(path))
        return None if document is None else scheduler_side(str(path), document, address)
    if place is None or reader is None:
        return None
    document = attempts.attempt(check, remedy, lambda: scheduler_source.from_cluster(reader, *place))
    return None if document is None else scheduler_side("/".join(place), document, address)


def _endpoint(
    attempts: Attempts, named: Named, side: SchedulerSide | None, address: str, stack: DeployedStack | None
) -> tuple[Endpoint | None, TLSMaterial]:
    """Called as the scheduler calls it, where its configuration is known."""
    ours = side.ours if side is not None else ()
    prefix = ours[0].url_prefix if ours else address
    if not prefix:
        return None, NO_MATERIAL
    # The stack's own password, unless another is named.
    wanted = stack is not None and stack.parameters.get("Authentication") == "basic" and not ours
    asked = STACK if wanted and named.user is None else None
    try:
        tls = material(ours[0].tls_config if ours else None, named.files)
        who: Basic | None = basic(named.user, named.password_from or asked, stack, named.region)
        url = prefix if who is None else url_prefix(shown(prefix), who)
        return HTTPSEndpoint(url, tls, named.call_timeout), tls
    except (CredentialsAbsent, NoPassword, StackUnavailable) as error:
        # Nothing is wrong with the set-up: what the scheduler has is not here.
        remedy = (
            "to call Berth, give what the scheduler has: --ca, --tls-client-cert, --tls-client-key, --password-from"
        )
        attempts.findings.append(skipped(CheckName.CREDENTIALS, str(error), remedy))
    except CredentialsUnreadable as error:
        if ours and ours[0].tls_config is not None and ours[0].tls_config.has_half:
            return None, NO_MATERIAL  # told by the check tlsConfig
        remedy = "kube-scheduler cannot use it either: take what `berth scheduler-config` prints"
        attempts.findings.append(failed(CheckName.CREDENTIALS, str(error), remedy))
    return None, NO_MATERIAL


def _configuration(attempts: Attempts, named: Named, stack: DeployedStack | None) -> BerthConfiguration | None:
    if named.config is not None:
        try:
            return load_configuration(named.config, None)
        except click.ClickException as error:
            attempts.findings.append(failed(CheckName.CONFIGURATION, error.message, "correct it: berth config check"))
            return None
    if stack is None:
        return None
    try:
        return configuration_in_force(stack)
    except StackUnavailable as error:
        if isinstance(error.__cause__, ConfigurationInvalid):
            found = failed(CheckName.CONFIGURATION, str(error), "apply a valid one: berth config apply")
        else:
            found = skipped(CheckName.CONFIGURATION, f"it cannot be read: see the check {CheckName.TABLE}")
        attempts.findings.append(found)
        return None
