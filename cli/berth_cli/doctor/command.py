"""`berth doctor`: check the whole set-up."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click

INTERRUPTED = 130
"""What a shell makes of SIGINT."""

EPILOG = """\b
Examples:
  berth doctor --url http://127.0.0.1:8080/scheduler --kubeconfig ~/.kube/config
  berth doctor --stack berth-production --scheduler-configmap kube-system/berth-scheduler --kubeconfig ~/.kube/config
  berth doctor --scheduler-config scheduler.yaml --ca ca.crt --tls-client-cert tls.crt --tls-client-key tls.key

\b
Exit status: 0 nothing failed, 1 something did (with --strict: or is a warning), 2 wrong options, 130 Ctrl-C.
docs/reference/doctor.md lists every check with its cause and its remedy. docs/reference/extender-contract.md lists the
facts by number.
"""


def _a_place(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, str] | None:
    if value is None:
        return None
    namespace, slash, name = value.partition("/")
    if not slash or not namespace or not name:
        raise click.BadParameter(f"{value} is not NAMESPACE/NAME")
    return namespace, name


_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command(epilog=EPILOG)
@click.option("--scheduler-config", type=_FILE, help="The scheduler's: its --config file, or manifests with it inside.")
@click.option(
    "--scheduler-configmap",
    metavar="NAMESPACE/NAME",
    callback=_a_place,
    help="The same in the cluster: a ConfigMap, or a Secret; needs --kubeconfig.",
)
@click.option("--stack", help="The stack: its address, configuration, table, schedule and functions.")
@click.option("--url", help="The extender's urlPrefix, such as https://HOST/scheduler; goes before the stack's.")
@click.option("--region", help="The stack's region, where it is not the AWS configuration's.")
@click.option("--config", type=_FILE, help="Berth's configuration; by default the one that the stack decides by.")
@click.option(
    "--kubeconfig", type=_FILE, help="The cluster. Without --stack its user's rights are checked, as of `berth serve`."
)
@click.option("--watcher-kubeconfig", type=_FILE, help="As the watcher; by default what the stack's secret has.")
@click.option("--binder-kubeconfig", type=_FILE, help="As bind; by default what the stack's other secret has.")
@click.option("--watcher-user", metavar="USER[,GROUP…]", help="Who the watcher is; asked about with --kubeconfig.")
@click.option("--binder-user", metavar="USER[,GROUP…]", help="Who bind is; asked about with --kubeconfig.")
@click.option(
    "--tls-client-cert", "certificate", type=_FILE, help="The scheduler's client certificate, where it is here."
)
@click.option("--tls-client-key", "key", type=_FILE, help="Its key.")
@click.option("--ca", type=_FILE, help="What the scheduler verifies the server by.")
@click.option("--user", help="Basic credentials, where the scheduler's configuration is not given.")
@click.option("--password-from", metavar="SOURCE", help="Its password: a file, - , stack, or secret:NAME.")
@click.option("--timeout", type=click.FloatRange(min=0.1), default=10.0, show_default=True, help="Seconds for a check.")
@click.option("--strict", is_flag=True, help="A warning counts as a failure.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
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
    """Look for what goes wrong in silence: a line for each check, and what to do about it.

    Give what there is: what can be checked of it is checked, and the rest is named as skipped. Nothing is changed:
    the verbs are asked about a pod that does not exist, and the cluster in dry runs.
    """
    if not any((scheduler_config, scheduler_configmap, stack, url, kubeconfig, watcher_kubeconfig, binder_kubeconfig)):
        raise click.UsageError("give --stack NAME, --url URL, --scheduler-config FILE or --kubeconfig FILE")
    if scheduler_config and scheduler_configmap:
        raise click.UsageError("--scheduler-config and --scheduler-configmap exclude each other")
    if scheduler_configmap and not kubeconfig:
        raise click.UsageError("--scheduler-configmap needs --kubeconfig FILE")
    if (watcher_user or binder_user) and not kubeconfig:
        raise click.UsageError("--watcher-user and --binder-user need the --kubeconfig of an administrator")
    if (certificate is None) != (key is None):
        raise click.UsageError("--tls-client-cert and --tls-client-key go together")
    # Only now: the clients of AWS and Kubernetes take longer to import than a wrong option to be found.
    from berth_cli.doctor.checklist import checks
    from berth_cli.doctor.inputs import gather
    from berth_cli.doctor.options import Named
    from berth_cli.doctor.report import as_json, exit_status, text
    from berth_cli.doctor.runner import run
    from berth_cli.scheduler_config.address import NotAnAddress
    from berth_cli.scheduler_config.tls_config import Files

    named = Named(
        scheduler_config=scheduler_config,
        scheduler_configmap=scheduler_configmap,
        stack=stack,
        region=region,
        url=url,
        files=Files(certificate, key, ca),
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
        findings = run(checks(gather(named), time.time), timeout)
    except NotAnAddress as error:
        raise click.BadParameter(str(error), param_hint="--url") from error
    except KeyboardInterrupt:
        # click's own status for it is 1, which says here that something failed.
        click.echo("ended before all checks were made", err=True)
        sys.exit(INTERRUPTED)
    if output == "json":
        click.echo(as_json(findings))
    else:
        for line in text(findings):
            click.echo(line, color=False if os.environ.get("NO_COLOR") else None)
    sys.exit(exit_status(findings, strict=strict))
