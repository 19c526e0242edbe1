"""`berth doctor`: checks an installation."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import click

from berth_cli.terminal.options import REGION_HELP, plugins_option, tls_files_options
from berth_cli.terminal.output import Format, output_option, render

EPILOG = """\b
Examples:
  berth doctor --url http://127.0.0.1:8080/scheduler --kubeconfig ~/.kube/config
  berth doctor --stack berth-production --scheduler-configmap kube-system/berth-scheduler --kubeconfig ~/.kube/config
  berth doctor --scheduler-config scheduler.yaml --ca ca.crt --tls-client-cert tls.crt --tls-client-key tls.key

\b
Exit status: 0 no failure, 1 a failure (with --strict: or a warning), 2 usage error, 130 Ctrl-C.
docs/reference/doctor.md describes every check, docs/reference/extender-contract.md has the facts by number.
"""


def _validate_object_name(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, str] | None:
    if value is None:
        return None
    namespace, slash, name = value.partition("/")
    if not slash or not namespace or not name:
        raise click.BadParameter(f"{value} is not of the form NAMESPACE/NAME")
    return namespace, name


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
@click.option(
    "--watcher-user", metavar="USER[,GROUP…]", help="User of the watcher; checked with access reviews by --kubeconfig."
)
@click.option(
    "--binder-user", metavar="USER[,GROUP…]", help="User of bind; checked with access reviews by --kubeconfig."
)
@tls_files_options()
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=5.0,
    show_default=True,
    help="Time limit of a call in seconds.",
)
@click.option("--strict", is_flag=True, help="Treat warnings as failures.")
@output_option()
def doctor(strict: bool, output: str, **given: Any) -> None:
    """Check an installation: one line per check, with a remedy for each problem.

    Many misconfigurations fail silently. Give as many options as you can: checks without input are reported as skipped.
    Nothing is changed: the command calls the verbs for a pod that does not exist, and the API server with dry runs.
    """
    has_cluster, scheduler_configmap = given["kubeconfig"] is not None, given["scheduler_configmap"]
    if not any((given["scheduler_config"], scheduler_configmap, given["stack"], given["url"], has_cluster)):
        raise click.UsageError("give --stack NAME, --url URL, --scheduler-config FILE or --kubeconfig FILE")
    if given["scheduler_config"] and scheduler_configmap:
        raise click.UsageError("--scheduler-config and --scheduler-configmap exclude each other")
    if scheduler_configmap and not has_cluster:
        raise click.UsageError("--scheduler-configmap needs --kubeconfig FILE")
    if (given["watcher_user"] or given["binder_user"]) and not has_cluster:
        raise click.UsageError("--watcher-user and --binder-user need --kubeconfig FILE of an administrator")
    # Imported here: the AWS and Kubernetes clients are slow to import, and usage errors must not wait for them.
    from berth_cli.installation.doctor.checklist import run_checks
    from berth_cli.installation.doctor.findings import Finding, document, exit_status, lines, summary
    from berth_cli.installation.doctor.inputs import Options, read_inputs
    from berth_cli.installation.kube_scheduler_configuration import InvalidAddress

    findings: list[Finding] = []
    color = False if os.environ.get("NO_COLOR") else None
    try:
        inputs = read_inputs(Options(**given))
        for finding in run_checks(inputs, time.time):
            findings.append(finding)
            for line in lines(finding) if output == Format.TABLE else ():
                click.echo(line, color=color)
    except InvalidAddress as error:
        raise click.BadParameter(str(error), param_hint="--url") from error
    click.echo(summary(findings) if output == Format.TABLE else render(document(findings), output))
    sys.exit(exit_status(findings, strict=strict))
