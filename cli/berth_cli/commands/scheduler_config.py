"""`berth scheduler-config`: prints the kube-scheduler configuration that calls Berth."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from berth.pods import BERTH_SCHEDULERS, DEFAULT_SCHEDULER
from berth_cli.installation.extenders import (
    SCHEDULERS_REMEDY,
    ExtenderOptions,
    Verb,
    extenders,
    managed_resources_of,
    option_notes,
    refused_by_bind,
)
from berth_cli.installation.kube_scheduler_configuration import (
    FIELD_COMMENTS,
    Entry,
    InvalidAddress,
    parse_address,
    scheduler_configuration,
    scheduler_flags,
    yaml_text,
)
from berth_cli.installation.second_scheduler import (
    DEFAULT_SIZE,
    MEMORY,
    SecondScheduler,
    chart_values,
    image_of,
    manifests,
    mounted_tls,
)
from berth_cli.terminal.options import REGION_HELP, TLSFiles, parse_duration, plugins_option, tls_files_options

# Functions that need the AWS SDK import it themselves, so that usage errors appear without delay.
if TYPE_CHECKING:
    from berth.scheduling.configuration.document import BerthConfiguration
    from berth_cli.sources.server import TLSMaterial
    from berth_cli.sources.stack import BasicCredentials

DEFAULT_TIMEOUT = "5s"
VERSION_SECONDS = 10.0
NO_KUBECONFIG = (
    "no kubeconfig is given, and with --config kube-scheduler ignores its --kubeconfig flag: outside a pod give "
    "--scheduler-kubeconfig"
)
# A Deployment name, short enough for the suffix in the names of its pods.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,44}[a-z0-9])?", re.ASCII)

EPILOG = """\b
Examples:
  berth scheduler-config --url http://127.0.0.1:8080/scheduler > scheduler.yaml
  berth scheduler-config --stack berth-production --second-scheduler berth-scheduler --kubeconfig ~/.kube/config \\
      --tls-client-cert tls.crt --tls-client-key tls.key | kubectl apply -f -
  berth scheduler-config --stack berth-production --second-scheduler berth-scheduler --kubeconfig ~/.kube/config \\
      --tls-secret berth-client -o chart > values.yaml
  berth scheduler-config --stack berth-trial --second-scheduler berth --kubeconfig ~/.kube/config \\
      --with-password | kubectl apply -f -

\b
Exit status: 0 success, 1 an input cannot be read, 2 usage error.
"""


def _validate_duration(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and not parse_duration(value):
        raise click.BadParameter(f"{value} is not a duration such as 5s or 1m30s")
    return value


def _validate_name(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and _NAME.fullmatch(value) is None:
        raise click.BadParameter(
            f"{value} is not a valid name: use up to 46 lower-case letters, digits and inner hyphens"
        )
    if value == DEFAULT_SCHEDULER:
        raise click.BadParameter(f"{value} is the cluster's own scheduler; omit the option to configure it")
    return value


def _validate_url(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    try:
        return None if value is None else parse_address(value.rstrip("/")).geturl()
    except InvalidAddress as error:
        raise click.BadParameter(str(error)) from error


def _validate_verbs(_: click.Context, __: click.Parameter, value: str) -> frozenset[Verb]:
    try:
        return frozenset(Verb(name.strip()) for name in value.split(","))
    except ValueError as error:
        raise click.BadParameter(f"{error}; allowed: {', '.join(Verb)}") from error


@click.command("scheduler-config", epilog=EPILOG)
@plugins_option
@click.option("--stack", "stack_name", help="Stack to take the address, httpTimeout and configuration from.")
@click.option(
    "--url",
    callback=_validate_url,
    help="The extender's urlPrefix, for example https://HOST/scheduler; overrides the stack's.",
)
@click.option("--region", help=REGION_HELP)
@click.option(
    "--second-scheduler",
    "second",
    metavar="NAME",
    callback=_validate_name,
    help="Print the manifests of a second kube-scheduler with this name.",
)
@click.option("--namespace", default="kube-system", show_default=True, help="Namespace of the second scheduler.")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Cluster of the second scheduler, which gets kube-scheduler's image of the same version.",
)
@click.option("--image", help="Image of the second scheduler; instead of --kubeconfig.")
@click.option(
    "--cluster-size",
    type=click.Choice(list(MEMORY)),
    help=f"Size of the cluster, for the second scheduler's memory; default: the stack's, else {DEFAULT_SIZE}.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="BerthConfiguration (YAML); default: the configuration in use by the stack.",
)
@click.option(
    "--verbs", default=",".join(Verb), show_default=True, callback=_validate_verbs, help="Verbs that call Berth."
)
@click.option(
    "--filter-onlyone",
    is_flag=True,
    help="Let filter select the node; kube-scheduler's own scores then have no effect.",
)
@click.option(
    "--weight",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Weight of prioritize relative to kube-scheduler's own scores.",
)
@click.option(
    "--http-timeout",
    callback=_validate_duration,
    help=f"httpTimeout, for example 5s; default: the stack's, else {DEFAULT_TIMEOUT}.",
)
@tls_files_options(exist=False)
@click.option(
    "--tls-secret",
    metavar="NAME",
    help="Existing Secret (kubernetes.io/tls) with the second scheduler's client certificate.",
)
@click.option(
    "--with-password", is_flag=True, help="Put the stack's Basic password into the address; for evaluation only."
)
@click.option(
    "--scheduler-kubeconfig",
    default="",
    metavar="PATH",
    help="Kubeconfig path on the machine of the cluster's own scheduler. With --config, kube-scheduler ignores its own "
    "--kubeconfig flag.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["yaml", "chart"]),
    default="yaml",
    show_default=True,
    help="chart: the values of the Helm chart for the second scheduler.",
)
def scheduler_config(
    stack_name: str | None,
    url: str | None,
    region: str | None,
    config: Path | None,
    verbs: frozenset[Verb],
    files: TLSFiles,
    with_password: bool,
    output: str,
    **given: Any,
) -> None:
    """Print the kube-scheduler configuration that calls Berth.

    The output is a KubeSchedulerConfiguration for kube-scheduler's --config. With --second-scheduler NAME it is a set
    of manifests for `kubectl apply -f -`: Deployment, ServiceAccount, RBAC, ConfigMap and Secret of a scheduler for
    pods with `schedulerName: NAME`. Notes go to standard error. `berth doctor` checks the result.
    """
    second, secret = given["second"], given["tls_secret"]
    is_chart, has_files = output == "chart", files.certificate is not None
    for is_wrong, message in (
        (secret and has_files, "--tls-secret and --tls-client-cert exclude each other"),
        (secret and not second, "--tls-secret needs --second-scheduler; the cluster's own scheduler reads files"),
        (second and given["scheduler_kubeconfig"], "--scheduler-kubeconfig is for the cluster's own scheduler"),
        (
            second and not given["image"] and not given["kubeconfig"],
            "--second-scheduler needs --kubeconfig FILE, or --image of the cluster's version",
        ),
        (not stack_name and not url, "give --stack NAME or --url URL"),
        (not stack_name and with_password, "--with-password needs --stack NAME"),
        (is_chart and not second, "-o chart needs --second-scheduler"),
        (is_chart and has_files, "-o chart: give the client certificate as --tls-secret"),
        (is_chart and with_password, "-o chart: the chart takes no password"),
    ):
        if is_wrong:
            raise click.UsageError(message)
    source = _source(stack_name, region, config, url, with_password=with_password)
    configuration = source.configuration
    if configuration.gangs.enabled and not verbs >= {Verb.FILTER, Verb.BIND}:
        raise click.UsageError(f"{config or 'the configuration'} enables gangs: they need the verbs filter and bind")
    material = _material(files) if second else None
    # Two schedulers with the same name would both schedule its pods.
    own = [name for name in configuration.profiles if name != DEFAULT_SCHEDULER]
    names = list(dict.fromkeys((second, *own) if second else (DEFAULT_SCHEDULER, *own)))
    choices = ExtenderOptions(
        url_prefix=source.address,
        verbs=verbs,
        filter_onlyone=given["filter_onlyone"],
        weight=given["weight"],
        http_timeout=given["http_timeout"] or source.http_timeout,
        managed=managed_resources_of(configuration),
        tls=_by_path(files) if material is None else mounted_tls(client=secret or files.certificate, ca=files.ca),
    )
    flags = scheduler_flags(with_password=with_password, gangs=configuration.gangs.enabled)
    notes = [*option_notes(choices, with_password=with_password, second=second is not None)]
    notes += source.missing_credentials(with_password=with_password, certificate=secret or files.certificate)
    refusal = refused_by_bind(names, source.bound_schedulers) if Verb.BIND in verbs else ""
    if refusal:
        notes.append(f"{refusal}; {SCHEDULERS_REMEDY}")
    if material is None:
        notes.append(f"run kube-scheduler with --config=FILE {' '.join(flags)}")
        if not given["scheduler_kubeconfig"]:
            notes.append(NO_KUBECONFIG)
    for note in notes:
        click.echo(f"note: {note}", err=True)
    prefix = source.address if source.basic is None else source.basic.in_address(source.address)
    document = scheduler_configuration(
        names,
        extenders(replace(choices, url_prefix=prefix)),
        lock=(given["namespace"], second) if second else None,
        kubeconfig=given["scheduler_kubeconfig"],
        gangs=configuration.gangs.enabled,
    )
    text = yaml_text(document, FIELD_COMMENTS)
    if material is not None:
        described = SecondScheduler(
            name=second,
            namespace=given["namespace"],
            image=given["image"] or _image(given["kubeconfig"]),
            memory=MEMORY[given["cluster_size"] or source.cluster_size],
            flags=flags,
            configuration=text,
            has_password=with_password,
            ca=material.ca.decode(errors="replace"),
            client=(material.certificate, material.key) if material.certificate else None,
            client_secret=secret or "",
        )
        text = yaml_text(chart_values(described)) if is_chart else manifests(described)
    click.echo(text, nl=False)


@dataclass(frozen=True, slots=True)
class _Source:
    """The settings of the called stack or server. authentication: the stack's mode; empty if unknown. basic: the user
    and the password; None if not requested. bound_schedulers: the schedulers whose pods bind accepts."""

    configuration: BerthConfiguration
    address: str
    http_timeout: str = DEFAULT_TIMEOUT
    authentication: str = ""
    basic: BasicCredentials | None = None
    bound_schedulers: frozenset[str] = BERTH_SCHEDULERS
    cluster_size: str = DEFAULT_SIZE

    def missing_credentials(self, *, with_password: bool, certificate: object) -> Iterator[str]:
        """Yield a note if the stack requires credentials that the printed configuration does not contain."""
        if self.authentication == "basic" and not with_password:
            yield "the stack requires Basic credentials: give --with-password"
        if self.authentication == "mtls" and not certificate:
            yield "the stack requires a client certificate: give --tls-client-cert and --tls-client-key"


def _source(
    name: str | None, region: str | None, config: Path | None, url: str | None, *, with_password: bool
) -> _Source:
    """Return the stack's settings, overridden by the options. Raises ClickException."""
    from berth_cli.configuration.document import load_configuration

    if name is None:
        return _Source(load_configuration(config, None), url or "")
    from berth_cli.sources import stack as stacks

    stack = stacks.describe(name, region)
    return _Source(
        stacks.configuration_in_force(stack) if config is None else load_configuration(config, None),
        url or stack.output(stacks.URL_PREFIX),
        f"{stack.http_timeout}s" if stack.http_timeout else DEFAULT_TIMEOUT,
        stack.parameters.get("Authentication", ""),
        stacks.basic_credentials(stack) if with_password else None,
        stack.scheduler_names,
        stack.parameters.get("ClusterSize", DEFAULT_SIZE),
    )


def _image(file: Path) -> str:
    """Return the kube-scheduler image for the version of the kubeconfig's cluster. Raises ClickException."""
    from berth.cluster.api_server import kubeconfig
    from berth.nodecache.feed.cluster import ClusterUnavailable
    from berth_cli.installation.doctor.cluster_access import ClusterAccess

    try:
        version = ClusterAccess.of(kubeconfig.from_file(file), VERSION_SECONDS).version()
    except ClusterUnavailable as error:
        raise click.ClickException(str(error)) from error
    if image := image_of(version):
        return image
    raise click.ClickException(f"the API server reports the version {version or 'nothing'}: give --image")


def _material(files: TLSFiles) -> TLSMaterial:
    """Read the content of the files. Raises ClickException, also if key and certificate do not match."""
    from berth_cli.sources.server import CredentialsUnreadable, TLSMaterial

    try:
        return TLSMaterial.of(files).checked()
    except CredentialsUnreadable as error:
        raise click.ClickException(str(error)) from error


def _by_path(files: TLSFiles) -> Entry | None:
    """Return `tlsConfig` with the given paths, which are on the scheduler's machine; None if no path is given."""
    named = {"certFile": files.certificate, "keyFile": files.key, "caFile": files.ca}
    return {name: str(path) for name, path in named.items() if path is not None} or None
