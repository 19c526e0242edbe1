"""`berth watch`: runs the watcher of a stack as a process, for example in a pod of the cluster."""

from __future__ import annotations

import signal
from pathlib import Path

import click

from berth_cli.terminal.options import REGION_HELP, plugins_option

EPILOG = """\b
Examples:
  berth watch --stack berth-production
  berth watch --stack berth-trial --kubeconfig ~/.kube/config --no-metrics

\b
Exit status: 0 stopped, 1 cannot start, 2 usage error.
"""


@click.command(epilog=EPILOG)
@click.option(
    "--stack",
    "stack_name",
    required=True,
    help="Name of the stack: its tables, profile and httpTimeout, and the dimension of the metrics.",
)
@click.option("--region", help=REGION_HELP)
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    help="Kubeconfig of the cluster; default: the service account of the pod.",
)
@click.option(
    "--health-dir",
    type=click.Path(path_type=Path),
    help="Directory of two files for probes: alive (changed every 10 s) and ready (exists once a leader is known).",
)
@plugins_option
@click.option(
    "--no-metrics", is_flag=True, help="Do not send metrics to CloudWatch; the alarm WatcherNotRunning then fires."
)
def watch(
    stack_name: str, region: str | None, kubeconfig: Path | None, health_dir: Path | None, no_metrics: bool
) -> None:
    """Run the watcher of a stack as a process, for example in a pod of the cluster.

    It takes part in the same leader election as the watcher function and runs the same code. Deploy the stack with
    WatcherMode external, so that the watcher function is not started. Several processes may run: one leads, and one
    waits to take over. SIGTERM, SIGHUP, Ctrl-C and the end of the program that reads the output release the lease. The
    log goes to standard output, as JSON in a pipe and as readable lines on a terminal. examples/watcher-pod contains a
    Deployment.
    """
    if kubeconfig is not None and not kubeconfig.is_file():
        raise click.ClickException(
            f"{kubeconfig} is not a file; make a kubeconfig with: kubectl config view --raw --minify > FILE"
        )
    _watch(stack_name, region, kubeconfig, health_dir, has_metrics=not no_metrics)
    click.echo("stopped", err=True)


def _watch(
    stack_name: str, region: str | None, kubeconfig: Path | None, health_dir: Path | None, *, has_metrics: bool
) -> None:
    # Imported here: these imports take most of the start-up time, and usage errors must not wait for them.
    import os
    import time

    import boto3

    from berth.runtime.adapters import log
    from berth.runtime.aws_clients import CALLS
    from berth.runtime.telemetry.cloudwatch_metrics import CloudWatchMetrics
    from berth.runtime.telemetry.metrics import Metrics
    from berth.runtime.watcher.watcher_function import WatcherFunction
    from berth_cli.server.watcher_process import Health, WatcherProcess, watcher_settings
    from berth_cli.sources.stack import describe
    from berth_cli.terminal.logs import end_without_reader, make_readable_on_terminal

    # The metrics of a process would not reach CloudWatch, because its output is not in a log group.
    os.environ["POWERTOOLS_METRICS_DISABLED"] = "true"
    if region is not None:
        boto3.setup_default_session(region_name=region)
    stack = describe(stack_name, region)
    settings = watcher_settings(stack, kubeconfig)
    health = Health(health_dir, time.monotonic)
    if stack.parameters.get("WatcherMode") != "external":
        click.echo("note: the stack runs a watcher function too; the two take turns as the leader", err=True)
    metrics = Metrics()
    if has_metrics:
        metrics = CloudWatchMetrics(
            boto3.client("cloudwatch", config=CALLS).put_metric_data,
            stack_name,
            detailed=stack.parameters.get("DetailedMetrics") == "true",
            monotonic=time.monotonic,
            warn=log.warning,
        )
    process = WatcherProcess(WatcherFunction(settings, metrics, health.new_leader).handle, health.progressed)
    make_readable_on_terminal()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: process.stop())
    end_without_reader()
    try:
        process.run()
    finally:
        metrics.close()
