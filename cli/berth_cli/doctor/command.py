"""`berth doctor`: check an installation."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click

from berth_cli.options import REGION_HELP, plugins_option, require_key_pair
from berth_cli.output import Format, output_option, render

INTERRUPTED = 130
"""Exit status of a shell for SIGINT: 128 + 2."""

EPILOG = """\b
Examples:
  berth doctor --url http://127.0.0.1:8080/scheduler --kubeconfig ~/.kube/config
  berth doctor --stack berth-production --scheduler-configmap kube-system/berth-scheduler --kubeconfig ~/.kube/config
  berth doctor --scheduler-config scheduler.yaml --ca ca.crt --tls-client-cert tls.crt --tls-client-key tls.key
  berth doctor --explain-fact 41

\b
Exit status: 0 no failure, 1 a failure (with --strict: or a warning), 2 usage error, 130 Ctrl-C.
docs/reference/doctor.md describes every check. --explain-fact prints the facts that findings cite by number.
"""


def _validate_object_name(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, str] | None:
    if value is None:
        return None
    namespace, slash, name = value.partition("/")
    if not slash or not namespace or not name:
        raise click.BadParameter(f"{value} is not of the form NAMESPACE/NAME")
    return namespace, name


def _explain_fact(context: click.Context, _: click.Parameter, number: str | None) -> None:
    if number is None:
        return
    # Imported here: it reads the whole page.
    from berth_cli.doctor.contract import facts

    known = facts()
    if number not in known:
        raise click.BadParameter(f"there is no fact {number}; the facts are {', '.join(known)}")
    click.echo(known[number])
    context.exit()


_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command(epilog=EPILOG)
@click.option("--scheduler-config", type=_FILE, help="The scheduler's --config file, or manifests that contain it.")
@click.option(
    "--scheduler-configmap",
    metavar="NAMESPACE/NAME",
    callback=_validate_object_name,
    help="ConfigMap or Secret that contains the scheduler's configuration; needs --kubeconfig.",
)
@plugins_option
@click.option("--stack", help="Stack to check: address, configuration, table, schedule and functions.")
@click.option("--url", help="The extender's urlPrefix, for example https://HOST/scheduler; overrides the stack's.")
@click.option("--region", help=REGION_HELP)
@click.option("--config", type=_FILE, help="BerthConfiguration (YAML) that Berth should run; default: the one in use.")
@click.option(
    "--kubeconfig",
    type=_FILE,
    help="Cluster access: nodes, pending pods, and reviews of the users that `berth serve` names. Without any address, "
    "the permissions of its own user are checked.",
)
@click.option("--watcher-kubeconfig", type=_FILE, help="Kubeconfig of the watcher; default: from the stack's secret.")
@click.option("--binder-kubeconfig", type=_FILE, help="Kubeconfig of bind; default: from the stack's secret.")
@click.option(
    "--watcher-user", metavar="USER[,GROUP…]", help="User of the watcher; checked with access reviews by --kubeconfig."
)
@click.option(
    "--binder-user", metavar="USER[,GROUP…]", help="User of bind; checked with access reviews by --kubeconfig."
)
@click.option(
    "--tls-client-cert", "certificate", type=_FILE, help="Local copy of the scheduler's client certificate (PEM)."
)
@click.option("--tls-client-key", "key", type=_FILE, help="Private key of the client certificate (PEM).")
@click.option("--ca", type=_FILE, help="Local copy of the CA that the scheduler trusts (PEM).")
@click.option("--user", help="User of Basic credentials, if no scheduler configuration is given.")
@click.option(
    "--password-from", metavar="SOURCE", help="Password source: a file, - for standard input, stack, or secret:NAME."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    help="Time limit of a check in seconds.",
)
@click.option("--strict", is_flag=True, help="Treat warnings as failures.")
@click.option(
    "--explain-fact",
    metavar="NUMBER",
    callback=_explain_fact,
    is_eager=True,
    expose_value=False,
    help="Print a fact of the extender contract that a finding cites, and exit.",
)
@output_option()
def doctor(
    scheduler_config: Path | None,
    scheduler_configmap: tuple[str, str] | None,
    stack: str | None,
    url: str | None,
    region: str | None,
    config: Path | None,
    kubeconfig: Path | None,
    watcher_kubeconfig: Path | None,
    binder_kubeconfig: Path | None,
    watcher_user: str | None,
    binder_user: str | None,
    certificate: Path | None,
    key: Path | None,
    ca: Path | None,
    user: str | None,
    password_from: str | None,
    timeout: float,
    strict: bool,
    output: str,
) -> None:
    """Check an installation: one line per check, with a remedy for each problem.

    Many misconfigurations fail silently. Give as many options as you can: checks without input are reported as skipped.
    Nothing is changed: the verbs are called for a pod that does not exist, and the cluster with dry runs.
    """
    if not any((scheduler_config, scheduler_configmap, stack, url, kubeconfig, watcher_kubeconfig, binder_kubeconfig)):
        raise click.UsageError("give --stack NAME, --url URL, --scheduler-config FILE or --kubeconfig FILE")
    if scheduler_config and scheduler_configmap:
        raise click.UsageError("--scheduler-config and --scheduler-configmap exclude each other")
    if scheduler_configmap and not kubeconfig:
        raise click.UsageError("--scheduler-configmap needs --kubeconfig FILE")
    if (watcher_user or binder_user) and not kubeconfig:
        raise click.UsageError("--watcher-user and --binder-user need --kubeconfig FILE of an administrator")
    require_key_pair(certificate, key)
    # Imported here: the AWS and Kubernetes clients are slow to import, and a usage error must not wait for them.
    from berth_cli.doctor.checklist import checks
    from berth_cli.doctor.inputs import read_inputs
    from berth_cli.doctor.options import Options
    from berth_cli.doctor.report import document, exit_status, text
    from berth_cli.doctor.runner import run_checks
    from berth_cli.scheduler_config.address import InvalidAddress
    from berth_cli.scheduler_config.tls_config import TLSFiles

    options = Options(
        scheduler_config=scheduler_config,
        scheduler_configmap=scheduler_configmap,
        stack=stack,
        region=region,
        url=url,
        files=TLSFiles(certificate, key, ca),
        user=user,
        password_from=password_from,
        config=config,
        kubeconfig=kubeconfig,
        watcher_kubeconfig=watcher_kubeconfig,
        binder_kubeconfig=binder_kubeconfig,
        watcher_user=watcher_user,
        binder_user=binder_user,
        timeout=timeout,
    )
    try:
        findings = run_checks(checks(read_inputs(options), time.time), timeout)
    except InvalidAddress as error:
        raise click.BadParameter(str(error), param_hint="--url") from error
    except KeyboardInterrupt:
        # click would exit with status 1, which means a failed check here.
        click.echo("interrupted before all checks were finished", err=True)
        sys.exit(INTERRUPTED)
    if output != Format.TABLE:
        click.echo(render(document(findings), output))
    else:
        for line in text(findings):
            click.echo(line, color=False if os.environ.get("NO_COLOR") else None)
    sys.exit(exit_status(findings, strict=strict))
