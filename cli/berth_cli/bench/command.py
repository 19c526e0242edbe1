"""`berth bench`: measure the verbs of an installation."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from berth_cli.options import REGION_HELP, require_key_pair, tls_options
from berth_cli.output import Format, output_option, render

if TYPE_CHECKING:
    from berth_cli.bench.measurement import Verb

INTERRUPTED = 130
"""Exit status of a shell for SIGINT: 128 + 2."""
VERBS = ("filter", "filter_onlyone", "prioritize", "bind", "preempt")
DEFAULT_VERBS = ("filter", "prioritize")
MAX_BURST = 200

EPILOG = """\b
Examples:
  berth bench --url http://127.0.0.1:8080/scheduler --kubeconfig ~/.kube/config
  berth bench --stack berth-production --kubeconfig ~/.kube/config --burst 20
  berth bench --stack berth-production --verb filter_onlyone --verb bind -o json

\b
Exit status: 0 every call was answered or throttled in the burst, 1 a call was not, 2 usage error, 130 Ctrl-C.
"""

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command(epilog=EPILOG)
@click.option("--stack", help="Stack to measure; its outputs name the address and the Basic password.")
@click.option("--url", help="The extender's urlPrefix, for example https://HOST/scheduler; overrides the stack's.")
@click.option("--region", help=REGION_HELP)
@click.option(
    "--verb",
    "verbs",
    type=click.Choice(VERBS),
    multiple=True,
    help="Verb to measure; repeatable. Default: filter and prioritize.",
)
@click.option(
    "--calls", type=click.IntRange(min=1), default=100, show_default=True, help="Calls of each verb, one after another."
)
@click.option(
    "--burst",
    type=click.IntRange(0, MAX_BURST),
    default=0,
    show_default=True,
    help="Calls of each verb at once. On Lambda those beyond the idle environments are cold starts, and those beyond "
    "the quota of concurrent executions are throttled, which is no failure.",
)
@click.option("--kubeconfig", type=_FILE, help="Cluster with the node names of the requests.")
@click.option("--nodes", type=click.IntRange(min=1), help="At most this many node names; default: all.")
@click.option(
    "--pod", type=_FILE, help="Pod manifest (YAML or JSON) of the requests; default: a pod that requests nothing."
)
@tls_options()
@click.option("--user", help="User of Basic credentials.")
@click.option(
    "--password-from", metavar="SOURCE", help="Password source: a file, - for standard input, stack, or secret:NAME."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=30.0,
    show_default=True,
    help="Time limit of a call in seconds.",
)
@output_option("markdown")
def bench(
    stack: str | None,
    url: str | None,
    region: str | None,
    verbs: tuple[str, ...],
    calls: int,
    burst: int,
    kubeconfig: Path | None,
    nodes: int | None,
    pod: Path | None,
    certificate: Path | None,
    key: Path | None,
    ca: Path | None,
    user: str | None,
    password_from: str | None,
    timeout: float,
    output: str,
) -> None:
    """Measure the verbs of an installation from where this command runs.

    Calls each verb as kube-scheduler does, for a pod that does not exist. Nothing is bound or evicted: bind gets a
    request without a pod and preempt one without candidates. Times include the network. Without --kubeconfig, requests
    have one node name, and times say little about a large cluster. On a stack each call is billed.
    """
    if not (stack or url):
        raise click.UsageError("give --stack NAME or --url URL")
    require_key_pair(certificate, key)
    # Imported here: the AWS and Kubernetes clients are slow to import, and a usage error must not wait for them.
    from berth_cli.bench import report as reports
    from berth_cli.bench.measurement import Plan, Verb, measure
    from berth_cli.bench.target import Target, TargetUnavailable, open_target, read_pod
    from berth_cli.doctor.options import Options
    from berth_cli.scheduler_config.address import InvalidAddress
    from berth_cli.scheduler_config.tls_config import TLSFiles

    options = Options(
        stack=stack,
        region=region,
        url=url,
        files=TLSFiles(certificate, key, ca),
        user=user,
        password_from=password_from,
        kubeconfig=kubeconfig,
        timeout=2 * timeout,  # a call has half of a check's time
    )
    try:
        target: Target = open_target(options, nodes)
        plan = Plan(calls, burst, target.node_names, read_pod(pod))
        connection = target.connection_ms()
        figures = tuple(
            measure(target.endpoint, [Verb(each) for each in verbs or DEFAULT_VERBS], plan, _progress(plan.calls))
        )
    except InvalidAddress as error:
        raise click.BadParameter(str(error), param_hint="--url") from error
    except TargetUnavailable as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        click.echo("\ninterrupted before all calls were made", err=True)
        sys.exit(INTERRUPTED)
    finally:
        _clear_progress()
    report = reports.Report(target.endpoint.address, connection, len(target.node_names), calls, burst, figures)
    if output in (Format.JSON, Format.YAML):
        click.echo(render(reports.document(report), output))
    else:
        for line in reports.markdown(report) if output == "markdown" else reports.table(report):
            click.echo(line)
    sys.exit(0 if report.answered else 1)


def _progress(calls: int) -> Callable[[Verb, int], None]:
    def show(verb: Verb, number: int) -> None:
        if sys.stderr.isatty():
            click.echo(f"\r{verb}: {number} of {calls} calls ", nl=False, err=True)

    return show


def _clear_progress() -> None:
    if sys.stderr.isatty():
        click.echo("\r" + " " * 50 + "\r", nl=False, err=True)
