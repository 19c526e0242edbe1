"""Makes the inputs of the checks out of what the command line names."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import boto3

from berth.cluster import kubeconfig
from berth.cluster.api_server import ApiServer
from berth.nodecache.cluster import ClusterUnavailable
from berth.scheduling.configuration import BerthConfiguration
from berth_cli.configuration import load_configuration
from berth_cli.deployed_stack import LIMITS, URL_PREFIX, DeployedStack, StackUnavailable, describe
from berth_cli.doctor import scheduler_source
from berth_cli.doctor.account import Account
from berth_cli.doctor.aws_account import AWSAccount
from berth_cli.doctor.cluster_access import ClusterAccess
from berth_cli.doctor.credentials import NO_MATERIAL, CredentialsAbsent, CredentialsUnreadable, TLSMaterial, material
from berth_cli.doctor.endpoint import Endpoint
from berth_cli.doctor.finding import CheckName, Finding, failed, skipped
from berth_cli.doctor.https_endpoint import HTTPSEndpoint
from berth_cli.doctor.inputs import Inputs
from berth_cli.doctor.kubernetes_access import KubernetesAccess
from berth_cli.doctor.scheduler_document import NotReadable
from berth_cli.doctor.side import SchedulerSide, scheduler_side, shown
from berth_cli.scheduler_config.address import Basic, checked, url_prefix
from berth_cli.scheduler_config.deployed import configuration_in_force
from berth_cli.scheduler_config.passwords import STACK, NoPassword, basic
from berth_cli.scheduler_config.tls import Files

if TYPE_CHECKING:
    from kubernetes.client import Configuration

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What the command line names."""

    scheduler_config: Path | None = None
    scheduler_configmap: tuple[str, str] | None = None
    stack: str | None = None
    region: str | None = None
    url: str | None = None
    files: Files = Files()  # noqa: RUF009  frozen
    user: str | None = None
    password_from: str | None = None
    config: Path | None = None
    kubeconfig: Path | None = None
    watcher_kubeconfig: Path | None = None
    binder_kubeconfig: Path | None = None
    timeout: float = 10.0

    @property
    def call_timeout(self) -> float:
        """Less than a check has, so that a call that hangs is told as such."""
        return self.timeout / 2


@dataclass(slots=True)
class _Gathering:
    """Tries each thing once, and keeps why one could not be had."""

    findings: list[Finding] = field(default_factory=list)

    def attempt(self, check: CheckName, remedy: str, make: Callable[[], T]) -> T | None:
        try:
            return make()
        except (
            StackUnavailable,
            ClusterUnavailable,
            NotReadable,
            scheduler_source.NotThere,
        ) as error:
            self.findings.append(failed(check, str(error), remedy))
            return None


def gather(named: Named) -> Inputs:
    """Raises click's exceptions for a BerthConfiguration that is not valid, and nothing else."""
    gathering = _Gathering()
    stack = _stack(gathering, named)
    reader = _access(gathering, named, named.kubeconfig)
    address = _address(gathering, named, stack)
    side = _side(gathering, named, reader, address)
    endpoint, shown = _endpoint(gathering, named, side, address, stack)
    watcher, binder = (
        _access(gathering, named, path)
        if path is not None
        else _of_secret(gathering, named, stack, parameter) or reader
        for path, parameter in (
            (named.watcher_kubeconfig, "WatcherKubeconfigSecretArn"),
            (named.binder_kubeconfig, "BinderKubeconfigSecretArn"),
        )
    )
    parameters = {} if stack is None else stack.parameters
    account: Account | None = None if stack is None else AWSAccount(stack)
    return Inputs(
        side=side,
        address=address,
        endpoint=endpoint,
        material=shown,
        configuration=_configuration(gathering, named, stack),
        account=account,
        stack_timeout=float(parameters["HttpTimeoutSeconds"]) if "HttpTimeoutSeconds" in parameters else None,
        periodic=parameters.get("WatcherMode") == "periodic",
        reader=reader,
        watcher=watcher,
        binder=binder,
        findings=tuple(dict.fromkeys(gathering.findings)),
    )


def _stack(gathering: _Gathering, named: Named) -> DeployedStack | None:
    name = named.stack
    if name is None:
        return None
    return gathering.attempt(
        CheckName.STACK, "see whether name, region and credentials are right", lambda: describe(name, named.region)
    )


def _address(gathering: _Gathering, named: Named, stack: DeployedStack | None) -> str:
    """As it was named, without credentials."""
    url = named.url
    if url is not None:
        checked(url)
        return url
    if stack is None:
        return ""
    return gathering.attempt(CheckName.STACK, "name a stack of Berth's", lambda: stack.output(URL_PREFIX)) or ""


def _access(gathering: _Gathering, named: Named, path: Path | None) -> ClusterAccess | None:
    if path is None:
        return None
    return gathering.attempt(
        CheckName.KUBECONFIG,
        "give one that kubectl takes",
        lambda: _kubernetes(kubeconfig.from_file(path), named.call_timeout),
    )


def _of_secret(
    gathering: _Gathering, named: Named, stack: DeployedStack | None, parameter: str
) -> ClusterAccess | None:
    """The kubeconfig that one of the stack's functions uses, unless who asks may not read it."""
    secret = "" if stack is None else stack.parameters.get(parameter, "")
    if stack is None or not secret:
        return None
    try:
        client = boto3.client("secretsmanager", region_name=stack.region, config=LIMITS)
        return _kubernetes(kubeconfig.from_secret(client, secret), named.call_timeout)
    except ClusterUnavailable as error:
        gathering.findings.append(
            skipped(CheckName.KUBECONFIG_SECRET, str(error), "give --watcher-kubeconfig and --binder-kubeconfig")
        )
        return None


def _kubernetes(configuration: Configuration, timeout: float) -> ClusterAccess:
    return KubernetesAccess(ApiServer(configuration, time.monotonic), timeout)


def _side(gathering: _Gathering, named: Named, reader: ClusterAccess | None, address: str) -> SchedulerSide | None:
    path, place = named.scheduler_config, named.scheduler_configmap
    check, remedy = (
        CheckName.SCHEDULER,
        "kube-scheduler does not start with it: take what `berth scheduler-config` prints",
    )
    if path is not None:
        document = gathering.attempt(check, remedy, lambda: scheduler_source.from_file(path))
        return None if document is None else scheduler_side(str(path), document, address)
    if place is None or reader is None:
        return None
    document = gathering.attempt(check, remedy, lambda: scheduler_source.from_cluster(reader, *place))
    return None if document is None else scheduler_side("/".join(place), document, address)


def _endpoint(
    gathering: _Gathering, named: Named, side: SchedulerSide | None, address: str, stack: DeployedStack | None
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
        gathering.findings.append(skipped(CheckName.CREDENTIALS, str(error), remedy))
    except CredentialsUnreadable as error:
        remedy = "kube-scheduler cannot use it either: take what `berth scheduler-config` prints"
        gathering.findings.append(failed(CheckName.CREDENTIALS, str(error), remedy))
    return None, NO_MATERIAL


def _configuration(gathering: _Gathering, named: Named, stack: DeployedStack | None) -> BerthConfiguration | None:
    if named.config is not None:
        return load_configuration(named.config, None)
    if stack is None:
        return None
    return gathering.attempt(CheckName.CONFIGURATION, "apply it again", lambda: configuration_in_force(stack))
