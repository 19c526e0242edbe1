"""Reads the inputs that the options name: the scheduler's configuration, the address, the stack, the cluster and its
users."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import boto3
import click

from berth.cluster.api_server import kubeconfig
from berth.configuration.store import ConfigurationInvalid
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.pods import DEFAULT_SCHEDULER
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.plugins.custom_plugins import MISSING_REMEDY
from berth_cli.configuration.document import load_configuration
from berth_cli.installation.doctor.aws_account import AWSAccount, is_inspection_denied
from berth_cli.installation.doctor.checks.verbs import DEFAULT_VERBS
from berth_cli.installation.doctor.cluster_access import ClusterAccess, parse_subject
from berth_cli.installation.doctor.findings import CheckName, Finding, failed, skipped
from berth_cli.installation.doctor.scheduler_configuration import (
    InvalidSchedulerConfiguration,
    SchedulerSide,
    TLSConfig,
    from_cluster,
    from_file,
    scheduler_side,
)
from berth_cli.installation.kube_scheduler_configuration import parse_address
from berth_cli.sources.server import (
    NO_MATERIAL,
    UNKNOWN,
    CredentialsMissing,
    CredentialsUnreadable,
    Endpoint,
    RunningBerth,
    Subject,
    TLSMaterial,
    read_pem,
    running_berth,
)
from berth_cli.sources.stack import (
    CLIENT_CONFIG,
    URL_PREFIX,
    DeployedStack,
    StackUnavailable,
    basic_credentials,
    configuration_in_force,
    describe,
)
from berth_cli.terminal.options import TLSFiles

DEFAULT_TIMEOUT = 5.0
"""kube-scheduler's default timeout in seconds, if httpTimeout is not set (fact 5)."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The values of the command-line options."""

    scheduler_config: Path | None = None
    scheduler_configmap: tuple[str, str] | None = None
    stack: str | None = None
    region: str | None = None
    url: str | None = None
    files: TLSFiles = TLSFiles()  # noqa: RUF009  frozen
    config: Path | None = None
    kubeconfig: Path | None = None
    watcher_user: str | None = None
    binder_user: str | None = None
    timeout: float = DEFAULT_TIMEOUT


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The inputs of the checks; None if not given or not readable. `findings`: the errors of unreadable inputs.
    `address`: Berth's address from the options. `is_configuration_given`: whether --config gives the configuration;
    otherwise it is the stack's. `reader`: the cluster with the caller's permissions. `watcher`, `binder`: the cluster
    with the permissions of these functions; None if unknown. `stack_timeout`: the stack's HttpTimeoutSeconds.
    `watcher_mode`: the stack's WatcherMode. `bound_schedulers`: the schedulers whose pods the stack's bind binds.
    """

    findings: tuple[Finding, ...] = ()
    scheduler_side: SchedulerSide | None = None
    address: str = ""
    endpoint: Endpoint | None = None
    material: TLSMaterial = field(default=NO_MATERIAL, repr=False)
    configuration: BerthConfiguration | None = None
    is_configuration_given: bool = False
    account: AWSAccount | None = None
    stack_timeout: float | None = None
    watcher_mode: str = ""
    bound_schedulers: frozenset[str] | None = None
    reader: ClusterAccess | None = None
    watcher: ClusterAccess | None = None
    binder: ClusterAccess | None = None

    @cached_property
    def running(self) -> RunningBerth:
        """The state that Berth reports at this address."""
        return UNKNOWN if self.endpoint is None else running_berth(self.endpoint)

    @cached_property
    def node_names(self) -> list[str]:
        """The names of the cluster's nodes; empty if unknown."""
        try:
            return [] if self.reader is None else self.reader.node_names()
        except ClusterUnavailable:
            return []

    @property
    def wanted(self) -> BerthConfiguration:
        """The configuration that the installation should match."""
        return self.configuration or self.running.configuration or BerthConfiguration()

    @property
    def verbs(self) -> Mapping[str, str]:
        """The verbs by field, from the scheduler's configuration or the defaults."""
        if self.scheduler_side is None or not self.scheduler_side.berth_extenders:
            return DEFAULT_VERBS
        return {field: verb for entry in self.scheduler_side.berth_extenders for field, verb in entry.verbs.items()}

    @property
    def filter_verb_of_all_pods(self) -> str:
        """The filter verb; empty if Berth is called only for pods that request a managed resource, or not at all (fact
        7)."""
        entries = () if self.scheduler_side is None else self.scheduler_side.berth_extenders
        if not entries:
            return DEFAULT_VERBS["filterVerb"]
        return next((each.filter_verb for each in entries if each.filter_verb and not each.managed_resources), "")

    @property
    def scheduler_names(self) -> tuple[str, ...]:
        return (DEFAULT_SCHEDULER,) if self.scheduler_side is None else self.scheduler_side.scheduler_names

    @property
    def timeout(self) -> float:
        """The scheduler's timeout for a call, in seconds."""
        entries = () if self.scheduler_side is None else self.scheduler_side.berth_extenders
        return min((entry.timeout for entry in entries if entry.verbs), default=self.stack_timeout or DEFAULT_TIMEOUT)

    def as_running_user(self, user: Subject | None) -> ClusterAccess | None:
        """Return the cluster with the permissions of a user that the running Berth reports; None if unknown."""
        return None if user is None or self.reader is None else self.reader.as_user(user)


def read_inputs(options: Options) -> Inputs:
    """Read all inputs. Raises only InvalidAddress."""
    reading = _Reading(options)
    stack, reader = reading.stack, reading.reader
    address = reading.address()
    side = reading.scheduler_side(address)
    endpoint, material = reading.endpoint(side, address)
    watcher, binder = (
        reading.identity(user, parameter, is_running=endpoint is not None)
        for user, parameter in (
            (options.watcher_user, "WatcherKubeconfigSecretArn"),
            (options.binder_user, "BinderKubeconfigSecretArn"),
        )
    )
    return Inputs(
        scheduler_side=side,
        address=address,
        endpoint=endpoint,
        material=material,
        configuration=reading.configuration(),
        is_configuration_given=options.config is not None,
        account=None if stack is None else AWSAccount(stack),
        stack_timeout=float(stack.http_timeout) if stack is not None and stack.http_timeout else None,
        watcher_mode="" if stack is None else stack.parameters.get("WatcherMode", ""),
        bound_schedulers=None if stack is None else stack.scheduler_names,
        reader=reader,
        watcher=watcher,
        binder=binder,
        findings=tuple(dict.fromkeys(reading.findings)),
    )


class _Reading:
    """Reads each input once, and records a finding for each unreadable input. stack, reader: see Inputs."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.findings: list[Finding] = []
        name, path = options.stack, options.kubeconfig
        self.stack: DeployedStack | None = None
        if name is not None:
            self.stack = self._read(
                CheckName.STACK, "check name, region and credentials", lambda: describe(name, options.region)
            )
        self.reader: ClusterAccess | None = None
        if path is not None:
            self.reader = self._read(
                CheckName.KUBECONFIG,
                "give a kubeconfig that kubectl accepts",
                lambda: ClusterAccess.of(kubeconfig.from_file(path), options.timeout),
            )

    def _read(self, check: CheckName, remedy: str, read_input: Callable[[], T]) -> T | None:
        try:
            return read_input()
        except (StackUnavailable, ClusterUnavailable, InvalidSchedulerConfiguration) as error:
            self.findings.append(failed(check, str(error), remedy))
            return None

    def address(self) -> str:
        """Return the address from the options, without credentials."""
        if self._options.url is not None:
            parse_address(self._options.url)
            return self._options.url
        stack = self.stack
        if stack is None:
            return ""
        return self._read(CheckName.STACK, "give the name of a Berth stack", lambda: stack.output(URL_PREFIX)) or ""

    def identity(self, user: str | None, parameter: str, *, is_running: bool) -> ClusterAccess | None:
        """Return the cluster with the permissions of `user`, or with the kubeconfig in the stack's secret.

        Without a stack, return None if `berth serve` runs and reports its own user; otherwise the cluster with the
        caller's kubeconfig, which `berth serve` will use.
        """
        if user is not None:
            return None if self.reader is None else self.reader.reviewing(parse_subject(user))
        if self.stack is not None:
            return self._of_secret(self.stack, parameter)
        return None if is_running else self.reader

    def _of_secret(self, stack: DeployedStack, parameter: str) -> ClusterAccess | None:
        """Return the kubeconfig in the stack's secret, if the caller may read it."""
        secret, check = stack.parameters.get(parameter, ""), CheckName.KUBECONFIG_SECRET
        if not secret:
            return None
        try:
            client = boto3.client("secretsmanager", region_name=stack.region, config=CLIENT_CONFIG)
            return ClusterAccess.of(kubeconfig.from_secret(client, secret), self._options.timeout)
        except ClusterUnavailable as error:
            if is_inspection_denied(error.__cause__):
                remedy = "give --watcher-user and --binder-user, with an administrator's --kubeconfig"
                self.findings.append(skipped(check, str(error), remedy))
            else:
                message = f"{error}: the function cannot use it either"
                self.findings.append(failed(check, message, "put a kubeconfig with a token or certificates into it"))
            return None

    def scheduler_side(self, address: str) -> SchedulerSide | None:
        path, name, reader = self._options.scheduler_config, self._options.scheduler_configmap, self.reader
        remedy = "kube-scheduler does not start with it: use the output of `berth scheduler-config`"
        if path is not None:
            source, document = str(path), self._read(CheckName.SCHEDULER, remedy, lambda: from_file(path))
        elif name is not None and reader is not None:
            source = "/".join(name)
            document = self._read(CheckName.SCHEDULER, remedy, lambda: from_cluster(reader, *name))
        else:
            return None
        return None if document is None else scheduler_side(source, document, address)

    def endpoint(self, side: SchedulerSide | None, address: str) -> tuple[Endpoint | None, TLSMaterial]:
        """Return the endpoint, with the scheduler's TLS settings and credentials if its configuration is known."""
        entries = side.berth_extenders if side is not None else ()
        prefix = entries[0].url_prefix if entries else address
        if not prefix:
            return None, NO_MATERIAL
        config = entries[0].tls_config if entries else None
        # The scheduler's configuration contains its own password.
        try:
            tls = load_tls_material(config, self._options.files)
            authentication = "" if self.stack is None or entries else self.stack.parameters.get("Authentication")
            if authentication == "mtls" and not tls.certificate:
                raise CredentialsMissing("the stack requires a client certificate")
            if self.stack is not None and authentication == "basic":
                prefix = basic_credentials(self.stack).in_address(address)
            return Endpoint(prefix, tls, self._options.timeout), tls
        except (CredentialsMissing, StackUnavailable) as error:
            # The installation may be correct: the scheduler's credentials are on another machine.
            remedy = "to call Berth, give the scheduler's configuration, --ca, --tls-client-cert or --tls-client-key"
            self.findings.append(skipped(CheckName.CREDENTIALS, str(error), remedy))
        except CredentialsUnreadable as error:
            remedy = "kube-scheduler cannot use it either: use the output of `berth scheduler-config`"
            self.findings.append(failed(CheckName.CREDENTIALS, str(error), remedy))
        return None, NO_MATERIAL

    def configuration(self) -> BerthConfiguration | None:
        try:
            if self._options.config is not None:
                return load_configuration(self._options.config, None)
            return None if self.stack is None else configuration_in_force(self.stack)
        except StackUnavailable as error:
            if isinstance(error.__cause__, ConfigurationInvalid):
                self._invalid_configuration(str(error), "apply a valid one: berth config apply")
            else:
                found = skipped(CheckName.CONFIGURATION, f"cannot be read: see the check {CheckName.TABLE}")
                self.findings.append(found)
        except click.ClickException as error:
            self._invalid_configuration(error.message, "fix it: berth config check")
        return None

    def _invalid_configuration(self, error: str, remedy: str) -> None:
        if MISSING_REMEDY in error:  # the document may be valid: only doctor lacks the plugins
            remedy = "give the directory of your plugins: berth doctor --plugins DIR"
        self.findings.append(failed(CheckName.CONFIGURATION, error, remedy))


def load_tls_material(config: TLSConfig | None, given: TLSFiles) -> TLSMaterial:
    """Load the TLS material. `given`: local files, which override the configuration's data and paths. Raises
    CredentialsUnreadable.
    """
    config = config or TLSConfig()
    return TLSMaterial(
        ca=_pem(given.ca, config.ca_data, config.ca_file, "--ca"),
        certificate=_pem(given.certificate, config.cert_data, config.cert_file, "--tls-client-cert"),
        key=_pem(given.key, config.key_data, config.key_file, "--tls-client-key"),
        server_name=config.server_name,
    )


def _pem(given: Path | None, data: str, path: str, option: str) -> bytes:
    if given is not None:
        return read_pem(given)
    if data:
        try:
            return b64decode(data, validate=True)
        except (NotBase64, ValueError):
            raise CredentialsUnreadable("the data in tlsConfig is not base64") from None
    hint = f"; the file is on the scheduler's machine: give a copy with {option}"
    return read_pem(Path(path), hint) if path else b""
