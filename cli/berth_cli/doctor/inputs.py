"""Read the inputs of all checks: what the options name, from files, the stack and the cluster."""

from __future__ import annotations

from dataclasses import dataclass, field

import click

from berth.configuration.store import ConfigurationInvalid
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.plugins.custom_plugins.loading import MISSING_REMEDY
from berth_cli.config.document import load_configuration
from berth_cli.deployed_stack import URL_PREFIX, DeployedStack, StackUnavailable, describe
from berth_cli.doctor.access import configuration_source as scheduler_source
from berth_cli.doctor.access.account import Account
from berth_cli.doctor.access.aws_account import AWSAccount
from berth_cli.doctor.access.cluster import ClusterAccess
from berth_cli.doctor.access.credentials import (
    NO_MATERIAL,
    CredentialsMissing,
    CredentialsUnreadable,
    TLSMaterial,
    load_tls_material,
)
from berth_cli.doctor.access.endpoint import Endpoint
from berth_cli.doctor.access.https_endpoint import HTTPSEndpoint
from berth_cli.doctor.findings import CheckName, Finding, failed, skipped
from berth_cli.doctor.identities import BINDER, WATCHER, access, identity
from berth_cli.doctor.options import InputErrors, Options
from berth_cli.doctor.scheduler.scheduler_side import SchedulerSide, scheduler_side, without_credentials
from berth_cli.scheduler_config.address import parse_address, url_prefix
from berth_cli.scheduler_config.basic_credentials import FROM_STACK, PasswordUnavailable, basic
from berth_cli.scheduler_config.inputs import configuration_in_force


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The inputs of the checks; None if not given or not readable. `findings`: the errors of unreadable inputs.

    `address`: Berth's address from the options. `is_configuration_given`: by --config; else it is the
    stack's. `reader`: the cluster as the caller. `watcher`, `binder`: the
    cluster as these functions. `stack_timeout`: the stack's HttpTimeoutSeconds. `periodic`: the stack's watcher
    lists the cluster once a minute. `external`: the stack has no watcher; berth watch runs elsewhere.
    """

    findings: tuple[Finding, ...] = ()
    scheduler_side: SchedulerSide | None = None
    address: str = ""
    endpoint: Endpoint | None = None
    material: TLSMaterial = field(default=NO_MATERIAL, repr=False)
    configuration: BerthConfiguration | None = None
    is_configuration_given: bool = False
    account: Account | None = None
    stack_timeout: float | None = None
    periodic: bool = False
    external: bool = False
    reader: ClusterAccess | None = None
    watcher: ClusterAccess | None = None
    binder: ClusterAccess | None = None


def read_inputs(options: Options) -> Inputs:
    """Read everything. Raises InvalidAddress only."""
    errors = InputErrors()
    stack = _stack(errors, options)
    reader = access(errors, options, options.kubeconfig)
    address = _address(errors, options, stack)
    side = _side(errors, options, reader, address)
    endpoint, material = _endpoint(errors, options, side, address, stack)
    is_running = endpoint is not None
    watcher = identity(errors, options, stack, WATCHER, is_running=is_running)
    binder = identity(errors, options, stack, BINDER, is_running=is_running)
    parameters = {} if stack is None else stack.parameters
    account: Account | None = None if stack is None else AWSAccount(stack)
    return Inputs(
        scheduler_side=side,
        address=address,
        endpoint=endpoint,
        material=material,
        configuration=_configuration(errors, options, stack),
        is_configuration_given=options.config is not None,
        account=account,
        stack_timeout=float(stack.http_timeout) if stack is not None and stack.http_timeout else None,
        periodic=parameters.get("WatcherMode") == "periodic",
        external=parameters.get("WatcherMode") == "external",
        reader=reader,
        watcher=watcher,
        binder=binder,
        findings=tuple(dict.fromkeys(errors.findings)),
    )


def _stack(errors: InputErrors, options: Options) -> DeployedStack | None:
    name = options.stack
    if name is None:
        return None
    return errors.read(CheckName.STACK, "check name, region and credentials", lambda: describe(name, options.region))


def _address(errors: InputErrors, options: Options, stack: DeployedStack | None) -> str:
    """The address from the options, without credentials."""
    url = options.url
    if url is not None:
        parse_address(url)
        return url
    if stack is None:
        return ""
    return errors.read(CheckName.STACK, "give the name of a Berth stack", lambda: stack.output(URL_PREFIX)) or ""


def _side(errors: InputErrors, options: Options, reader: ClusterAccess | None, address: str) -> SchedulerSide | None:
    path, name = options.scheduler_config, options.scheduler_configmap
    check, remedy = (
        CheckName.SCHEDULER,
        "kube-scheduler does not start with it: use the output of `berth scheduler-config`",
    )
    if path is not None:
        document = errors.read(check, remedy, lambda: scheduler_source.from_file(path))
        if document is None:
            return None
        return scheduler_side(str(path), document, address, scheduler_source.flags_in(path))
    if name is None or reader is None:
        return None
    document = errors.read(check, remedy, lambda: scheduler_source.from_cluster(reader, *name))
    return None if document is None else scheduler_side("/".join(name), document, address)


def _endpoint(
    errors: InputErrors, options: Options, side: SchedulerSide | None, address: str, stack: DeployedStack | None
) -> tuple[Endpoint | None, TLSMaterial]:
    """The endpoint with the scheduler's TLS settings and credentials if its configuration is known."""
    entries = side.berth_extenders if side is not None else ()
    prefix = entries[0].url_prefix if entries else address
    if not prefix:
        return None, NO_MATERIAL
    # Use the stack's own password unless --user names another user.
    needs_password = stack is not None and stack.parameters.get("Authentication") == "basic" and not entries
    default_source = FROM_STACK if needs_password and options.user is None else None
    try:
        tls = load_tls_material(entries[0].tls_config if entries else None, options.files)
        credentials = basic(options.user, options.password_from or default_source, stack, options.region)
        url = prefix if credentials is None else url_prefix(without_credentials(prefix), credentials)
        return HTTPSEndpoint(url, tls, options.call_timeout), tls
    except (CredentialsMissing, PasswordUnavailable, StackUnavailable) as error:
        # The installation may be correct: the scheduler's credentials are on another machine.
        remedy = "to call Berth, give the scheduler's --ca, --tls-client-cert, --tls-client-key or --password-from"
        errors.findings.append(skipped(CheckName.CREDENTIALS, str(error), remedy))
    except CredentialsUnreadable as error:
        if entries and entries[0].tls_config is not None and entries[0].tls_config.has_half:
            return None, NO_MATERIAL  # reported by the check tlsConfig
        remedy = "kube-scheduler cannot use it either: use the output of `berth scheduler-config`"
        errors.findings.append(failed(CheckName.CREDENTIALS, str(error), remedy))
    return None, NO_MATERIAL


def _configuration(errors: InputErrors, options: Options, stack: DeployedStack | None) -> BerthConfiguration | None:
    if options.config is not None:
        try:
            return load_configuration(options.config, None)
        except click.ClickException as error:
            errors.findings.append(_invalid(error.message, "fix it: berth config check"))
            return None
    if stack is None:
        return None
    try:
        return configuration_in_force(stack)
    except StackUnavailable as error:
        if isinstance(error.__cause__, ConfigurationInvalid):
            found = _invalid(str(error), "apply a valid one: berth config apply")
        else:
            found = skipped(CheckName.CONFIGURATION, f"cannot be read: see the check {CheckName.TABLE}")
        errors.findings.append(found)
        return None


def _invalid(error: str, remedy: str) -> Finding:
    if MISSING_REMEDY in error:  # the document may be valid: doctor itself lacks the plugins
        remedy = "give the directory of your plugins: berth doctor --plugins DIR"
    return failed(CheckName.CONFIGURATION, error, remedy)
