"""`berth scheduler-config`: print the kube-scheduler configuration that calls Berth."""

from __future__ import annotations

import re
from pathlib import Path

import click

from berth_cli.options import REGION_HELP, TLSFiles, plugins_option, require_key_pair
from berth_cli.scheduler_config import tls_config as tls
from berth_cli.scheduler_config.address import PASSWORD_PLACEHOLDER
from berth_cli.scheduler_config.extenders import Entry, ExtenderOptions, Mode, Verb
from berth_cli.scheduler_config.inputs import (
    DEFAULT_TIMEOUT,
    find_stack,
    missing_credentials_note,
    resolve_address,
    resolve_configuration,
    resolve_credentials,
    resolve_timeout,
)
from berth_cli.scheduler_config.kube_scheduler_configuration import (
    BOUNDED_RETRIES,
    DEFAULT_SCHEDULER,
    parse_duration,
    scheduler_flags,
)
from berth_cli.scheduler_config.managed_resources import managed_resources_of
from berth_cli.scheduler_config.notes import option_notes
from berth_cli.scheduler_config.rendering import ExtenderAddress, render_configuration, second_scheduler
from berth_cli.scheduler_config.second_scheduler import SecondScheduler

IMAGE = "registry.k8s.io/kube-scheduler:v1.36.3"
# A Deployment name, short enough for the suffix in the names of its pods.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,44}[a-z0-9])?", re.ASCII)

EPILOG = """\b
Examples:
  berth scheduler-config --url http://127.0.0.1:8080/scheduler > scheduler.yaml
  berth scheduler-config --stack berth-production --second-scheduler berth-scheduler \\
      --tls-client-cert tls.crt --tls-client-key tls.key | kubectl apply -f -
  berth scheduler-config --stack berth-trial --second-scheduler berth --password-from stack | kubectl apply -f -

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


@click.command("scheduler-config", epilog=EPILOG)
@plugins_option
@click.option("--stack", "stack_name", help="Stack to take the address, httpTimeout and configuration from.")
@click.option("--url", help="The extender's urlPrefix, for example https://HOST/scheduler; overrides the stack's.")
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
    "--image", default=IMAGE, show_default=True, help="Image of the second scheduler; use the cluster's version."
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="BerthConfiguration (YAML); default: the configuration in use by the stack.",
)
@click.option("--verbs", default=",".join(Verb), show_default=True, help="Verbs that call Berth.")
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
    "--mode",
    type=click.Choice([each.value for each in Mode]),
    default="cache",
    show_default=True,
    help="Send node names only (cache) or whole Node objects (full).",
)
@click.option(
    "--http-timeout",
    callback=_validate_duration,
    help=f"httpTimeout, for example 5s; default: the stack's, else {DEFAULT_TIMEOUT}.",
)
@click.option("--ignorable", is_flag=True, help="Place pods without Berth while it is down; not allowed with bind.")
@click.option("--tls-client-cert", "certificate", type=click.Path(path_type=Path), help="Client certificate (PEM).")
@click.option(
    "--tls-client-key", "key", type=click.Path(path_type=Path), help="Private key of the client certificate (PEM)."
)
@click.option(
    "--ca",
    type=click.Path(path_type=Path),
    help="CA of the server's certificate (PEM); default: the system's root certificates.",
)
@click.option(
    "--tls-data",
    is_flag=True,
    help="Embed the content of the files, including the key, instead of their paths.",
)
@click.option(
    "--tls-secret",
    metavar="NAME",
    help="Existing Secret (kubernetes.io/tls) with the second scheduler's client certificate.",
)
@click.option("--user", help="User of Basic credentials; for evaluation only.")
@click.option(
    "--password-from",
    metavar="SOURCE",
    help="Password source: a file, - for standard input, stack, or secret:NAME in Secrets Manager. "
    f"Default: print {PASSWORD_PLACEHOLDER} instead of a password.",
)
@click.option(
    "--bounded-retries",
    is_flag=True,
    help=f"Reduce retries of many rejected pods with {BOUNDED_RETRIES}. "
    "Cost: a pod that now fits waits up to 9 s instead of 0.1 s.",
)
@click.option(
    "--scheduler-kubeconfig",
    default="",
    metavar="PATH",
    help="Kubeconfig path on the machine of the cluster's own scheduler. With --config, kube-scheduler ignores its own "
    "--kubeconfig flag.",
)
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def scheduler_config(
    stack_name: str | None,
    url: str | None,
    region: str | None,
    second: str | None,
    namespace: str,
    image: str,
    config: Path | None,
    verbs: str,
    filter_onlyone: bool,
    weight: int,
    mode: str,
    http_timeout: str | None,
    ignorable: bool,
    certificate: Path | None,
    key: Path | None,
    ca: Path | None,
    tls_data: bool,
    tls_secret: str | None,
    user: str | None,
    password_from: str | None,
    bounded_retries: bool,
    scheduler_kubeconfig: str,
    output: str,
) -> None:
    """Print the kube-scheduler configuration that calls Berth.

    The output is a KubeSchedulerConfiguration for kube-scheduler's --config. With --second-scheduler NAME it is a set
    of manifests for `kubectl apply -f -`: Deployment, ServiceAccount, RBAC, ConfigMap and Secret of a scheduler for
    pods with `schedulerName: NAME`. Notes go to standard error. `berth doctor` checks the result.
    """
    files = TLSFiles(certificate, key, ca)
    _check_combinations(files, second, tls_data, tls_secret, scheduler_kubeconfig)
    selected = _verbs(verbs)
    if ignorable and Verb.BIND in selected:
        raise click.UsageError(
            "--ignorable and the verb bind exclude each other: after a failed bind kube-scheduler binds the pod too, "
            "and the two race (fact 24); add --verbs filter,prioritize,preempt"
        )
    stack = find_stack(stack_name, region)
    addressed = ExtenderAddress(resolve_address(url, stack), resolve_credentials(user, password_from, stack, region))
    configuration = resolve_configuration(config, stack)
    if configuration.gangs.enabled:
        if not selected >= {Verb.FILTER, Verb.BIND}:
            raise click.UsageError(
                f"{config or 'the configuration'} enables gangs: they need the verbs filter and bind"
            )
        # A gang that does not fit is retried without a pause otherwise (fact 44).
        bounded_retries = True
    content = _content(files) if second or tls_data else tls.TLSContent()
    choices = ExtenderOptions(
        url_prefix=addressed.url,
        verbs=selected,
        filter_onlyone=filter_onlyone,
        weight=weight,
        mode=Mode(mode),
        http_timeout=http_timeout or resolve_timeout(stack),
        ignorable=ignorable,
        managed=managed_resources_of(configuration),
        tls=_tls(files, content, second is not None, tls_data, tls_secret),
    )
    with_password = addressed.basic is not None
    for note in option_notes(
        choices, with_password=with_password, bounded_retries=bounded_retries, second=second is not None
    ):
        click.echo(f"note: {note}", err=True)
    credentials_note = missing_credentials_note(
        stack, password=with_password, certificate=bool(tls_secret or certificate)
    )
    if credentials_note:
        click.echo(f"note: {credentials_note}", err=True)
    if addressed.basic is not None and addressed.basic.password is None:
        click.echo(
            f"note: replace {PASSWORD_PLACEHOLDER} with the percent-encoded password, or give --password-from",
            err=True,
        )
    others, as_json = tuple(configuration.profiles), output == "json"
    command_flags = scheduler_flags(with_password=with_password, bounded_retries=bounded_retries)
    if second is None:
        text = render_configuration(choices, addressed, DEFAULT_SCHEDULER, others, scheduler_kubeconfig, as_json)
        click.echo(f"note: run kube-scheduler with --config=FILE {' '.join(command_flags)}", err=True)
        if not scheduler_kubeconfig:
            click.echo(
                "note: no kubeconfig is given, and with --config kube-scheduler ignores its --kubeconfig flag: outside "
                "a pod give --scheduler-kubeconfig",
                err=True,
            )
    else:
        deployed = SecondScheduler(
            name=second,
            namespace=namespace,
            image=image,
            flags=command_flags,
            configuration="",
            ca=content.ca.decode(errors="replace"),
            client=(content.certificate, content.key) if content.certificate else None,
            client_secret=tls_secret or "",
        )
        text = second_scheduler(choices, addressed, deployed, others, as_json)
    click.echo(text, nl=False)


def _check_combinations(
    files: TLSFiles, second: str | None, tls_data: bool, tls_secret: str | None, kubeconfig: str
) -> None:
    require_key_pair(files.certificate, files.key)
    if tls_secret and files.certificate is not None:
        raise click.UsageError("--tls-secret and --tls-client-cert exclude each other")
    if second is None and tls_secret:
        raise click.UsageError("--tls-secret needs --second-scheduler; the cluster's own scheduler reads files")
    if second is not None and (tls_data or kubeconfig):
        raise click.UsageError("--tls-data and --scheduler-kubeconfig are for the cluster's own scheduler")


def _verbs(listed: str) -> frozenset[Verb]:
    try:
        return frozenset(Verb(name.strip()) for name in listed.split(","))
    except ValueError as error:
        raise click.BadParameter(f"{error}; allowed: {', '.join(Verb)}", param_hint="--verbs") from error


def _content(files: TLSFiles) -> tls.TLSContent:
    try:
        return tls.read(files)
    except tls.InvalidTLSFile as error:
        raise click.ClickException(str(error)) from error


def _tls(files: TLSFiles, content: tls.TLSContent, second: bool, data: bool, secret: str | None) -> Entry | None:
    if second:
        return tls.by_mount(client=bool(secret or content.certificate), ca=bool(content.ca)) or None
    if not files.given:
        return None
    return tls.by_content(content) if data else tls.by_path(files)
