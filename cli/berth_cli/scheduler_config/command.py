"""`berth scheduler-config`: print the scheduler's side of Berth."""

from __future__ import annotations

import re
from pathlib import Path

import click

from berth_cli.scheduler_config import tls_config as tls
from berth_cli.scheduler_config.address import PLACEHOLDER
from berth_cli.scheduler_config.extenders import Choices, Entry, Mode, Verb
from berth_cli.scheduler_config.inputs import (
    DEFAULT_TIMEOUT,
    address_of,
    basic_of,
    configuration_of,
    credentials_wanted,
    stack_of,
    timeout_of,
)
from berth_cli.scheduler_config.kube_scheduler_configuration import (
    BOUNDED_RETRIES,
    DEFAULT_SCHEDULER,
    flags,
    parse_duration,
)
from berth_cli.scheduler_config.managed_resources import managed
from berth_cli.scheduler_config.notes import cautions
from berth_cli.scheduler_config.rendering import Addressed, own_configuration, second_scheduler
from berth_cli.scheduler_config.second_scheduler import SecondScheduler

IMAGE = "registry.k8s.io/kube-scheduler:v1.36.3"
# A Deployment's name, with room for what is appended to it in the names of its pods.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,44}[a-z0-9])?", re.ASCII)

EPILOG = """\b
Examples:
  berth scheduler-config --url http://127.0.0.1:8080/scheduler > scheduler.yaml
  berth scheduler-config --stack berth-production --second-scheduler berth-scheduler \\
      --tls-client-cert tls.crt --tls-client-key tls.key | kubectl apply -f -
  berth scheduler-config --stack berth-trial --second-scheduler berth --password-from stack | kubectl apply -f -

\b
Exit status: 0 printed, 1 something it needs cannot be read, 2 wrong options.
"""


def _a_duration(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and not parse_duration(value):
        raise click.BadParameter(f"{value} is not a duration such as 5s or 1m30s")
    return value


def _a_name(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and _NAME.fullmatch(value) is None:
        raise click.BadParameter(f"{value} is not a name: up to 46 lower-case letters, digits and inner dashes")
    if value == DEFAULT_SCHEDULER:
        raise click.BadParameter(f"{value} is the cluster's own scheduler; leave the option out to configure that one")
    return value


@click.command("scheduler-config", epilog=EPILOG)
@click.option("--stack", "stack_name", help="The stack: its address, httpTimeout and configuration are used.")
@click.option("--url", help="The extender's urlPrefix, such as https://HOST/scheduler; goes before the stack's.")
@click.option("--region", help="The stack's region, where it is not the AWS configuration's.")
@click.option(
    "--second-scheduler",
    "second",
    metavar="NAME",
    callback=_a_name,
    help="All manifests of a kube-scheduler of this name beside the cluster's own.",
)
@click.option("--namespace", default="kube-system", show_default=True, help="The second scheduler's namespace.")
@click.option("--image", default=IMAGE, show_default=True, help="Its image; take the version of the cluster.")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="The BerthConfiguration (YAML); by default the one that the stack decides by.",
)
@click.option("--verbs", default=",".join(Verb), show_default=True, help="What Berth is asked.")
@click.option(
    "--filter-onlyone",
    is_flag=True,
    help="Let filter choose the node, so that the scheduler's own scores do not count.",
)
@click.option(
    "--weight",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How much prioritize counts beside the scheduler's own scores.",
)
@click.option(
    "--mode",
    type=click.Choice([each.value for each in Mode]),
    default="cache",
    show_default=True,
    help="Send names of nodes, or whole nodes.",
)
@click.option(
    "--http-timeout", callback=_a_duration, help=f"Such as 5s; by default the stack's, else {DEFAULT_TIMEOUT}."
)
@click.option("--ignorable", is_flag=True, help="Place pods without Berth while it is down; not with the verb bind.")
@click.option("--tls-client-cert", "certificate", type=click.Path(path_type=Path), help="The client certificate (PEM).")
@click.option("--tls-client-key", "key", type=click.Path(path_type=Path), help="Its key (PEM).")
@click.option(
    "--ca",
    type=click.Path(path_type=Path),
    help="What the server's certificate is verified by (PEM); by default the system's roots.",
)
@click.option(
    "--tls-data",
    is_flag=True,
    help="Put the files' content, the key too, into the configuration, instead of their paths.",
)
@click.option(
    "--tls-secret",
    metavar="NAME",
    help="The second scheduler's client certificate: a Secret (kubernetes.io/tls) that is there already.",
)
@click.option("--user", help="Basic credentials, for trying out.")
@click.option(
    "--password-from",
    metavar="SOURCE",
    help="The password to print: a file, - , stack, or secret:NAME of Secrets Manager. "
    f"By default {PLACEHOLDER} stands in its place.",
)
@click.option(
    "--bounded-retries",
    is_flag=True,
    help=f"Against retry storms of many rejected pods: {BOUNDED_RETRIES}. "
    "The price: a pod that fits now waits for up to 9 s instead of 0.1 s.",
)
@click.option(
    "--scheduler-kubeconfig",
    default="",
    metavar="PATH",
    help="The kubeconfig of the cluster's own scheduler, where it runs; with --config it takes it from nowhere else.",
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
    """Print what kube-scheduler needs in order to ask Berth.

    A KubeSchedulerConfiguration for its --config; with --second-scheduler NAME all that `kubectl apply -f -` takes: a
    Deployment with ServiceAccount, RBAC, ConfigMap and Secret, for pods with `schedulerName: NAME`. What is easily
    overlooked is said on standard error. `berth doctor` checks the result.
    """
    files = tls.Files(certificate, key, ca)
    _check_together(files, second, tls_data, tls_secret, scheduler_kubeconfig)
    asked = _verbs(verbs)
    if ignorable and Verb.BIND in asked:
        raise click.UsageError(
            "--ignorable and the verb bind exclude each other: a bind that fails would be done by the scheduler too, "
            "and the two race (fact 24); add --verbs filter,prioritize,preempt"
        )
    stack = stack_of(stack_name, region)
    addressed = Addressed(address_of(url, stack), basic_of(user, password_from, stack, region))
    configuration = configuration_of(config, stack)
    content = _content(files) if second or tls_data else tls.Content()
    choices = Choices(
        url_prefix=addressed.url,
        verbs=asked,
        filter_onlyone=filter_onlyone,
        weight=weight,
        mode=Mode(mode),
        http_timeout=http_timeout or timeout_of(stack),
        ignorable=ignorable,
        managed=managed(configuration),
        tls=_tls(files, content, second is not None, tls_data, tls_secret),
    )
    with_password = addressed.basic is not None
    for line in cautions(
        choices, with_password=with_password, bounded_retries=bounded_retries, second=second is not None
    ):
        click.echo(f"note: {line}", err=True)
    shown = credentials_wanted(stack, password=with_password, certificate=bool(tls_secret or certificate))
    if shown:
        click.echo(f"note: {shown}", err=True)
    if addressed.basic is not None and addressed.basic.password is None:
        click.echo(
            f"note: put the password, percent-encoded, in the place of {PLACEHOLDER}, or give --password-from", err=True
        )
    others, as_json = tuple(configuration.profiles), output == "json"
    told = flags(with_password=with_password, bounded_retries=bounded_retries)
    if second is None:
        text = own_configuration(choices, addressed, DEFAULT_SCHEDULER, others, scheduler_kubeconfig, as_json)
        click.echo(f"note: run kube-scheduler with --config=FILE {' '.join(told)}", err=True)
        if not scheduler_kubeconfig:
            click.echo(
                "note: no kubeconfig is named, and beside --config kube-scheduler takes none by flag: outside of a pod "
                "give --scheduler-kubeconfig",
                err=True,
            )
    else:
        deployed = SecondScheduler(
            name=second,
            namespace=namespace,
            image=image,
            flags=told,
            configuration="",
            ca=content.ca.decode(errors="replace"),
            client=(content.certificate, content.key) if content.certificate else None,
            client_secret=tls_secret or "",
        )
        text = second_scheduler(choices, addressed, deployed, others, as_json)
    click.echo(text, nl=False)


def _check_together(
    files: tls.Files, second: str | None, tls_data: bool, tls_secret: str | None, kubeconfig: str
) -> None:
    if (files.certificate is None) != (files.key is None):
        raise click.UsageError("--tls-client-cert and --tls-client-key go together")
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
        raise click.BadParameter(f"{error}; there are {', '.join(Verb)}", param_hint="--verbs") from error


def _content(files: tls.Files) -> tls.Content:
    try:
        return tls.read(files)
    except tls.UnusableFile as error:
        raise click.ClickException(str(error)) from error


def _tls(files: tls.Files, content: tls.Content, second: bool, data: bool, secret: str | None) -> Entry | None:
    if second:
        return tls.by_mount(client=bool(secret or content.certificate), ca=bool(content.ca)) or None
    if not files.given:
        return None
    return tls.by_content(content) if data else tls.by_path(files)
