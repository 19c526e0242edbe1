"""`berth plugin check`: run a custom plugin on a cluster and say where it breaks what Berth relies on."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.configuration.plugin_config import PluginConfig, build_plugin
from berth.scheduling.plugins.custom_plugins import NotAPlugin, custom_plugin
from berth_cli.config.document import load_configuration
from berth_cli.options import plugins_option
from berth_cli.output import Format, output_option, render

EPILOG = """\b
Examples:
  berth plugin check berth_plugins.team_nodes:TeamNodes --plugins examples/custom-plugin
  berth plugin check berth_plugins.team_nodes:TeamNodes --plugins . --cluster dump.json --config berth.yaml
"""


@click.command(epilog=EPILOG)
@click.argument("plugin", metavar="MODULE:CLASS")
@plugins_option
@click.option(
    "--cluster",
    type=click.Path(path_type=Path),
    help="Cluster dump to check the plugin on; default: a sample of six nodes and five pods.",
)
@click.option(
    "--config", type=click.Path(path_type=Path), help="BerthConfiguration document with the plugin's arguments."
)
@output_option()
def check(plugin: str, cluster: Path | None, config: Path | None, output: str) -> None:
    """Check a plugin of your own on a cluster.

    It judges and scores the pods of the cluster, and pods and clusters with small changes. The rules: no exception;
    results of the right type; integer scores of 0 to 100; pods of one `shape` are judged alike; what `reads` leaves out
    makes no difference; the same answer each time; no I/O, clock or random number; a state that is updated judges like
    a new one; a pod fits only after changes that are registered; at most 200 microseconds of processor time for a node.

    Exit status: 0 every rule holds; 1 a rule is broken, or there is no such plugin; 2 usage error.
    """
    # Imported here: a usage error must not wait for it.
    from berth.testing.checks import check_plugin
    from berth_cli.plugin_checks import SAMPLE, checked_cluster

    configuration = load_configuration(config, None)
    try:
        custom_plugin(plugin)
    except NotAPlugin as error:
        raise click.ClickException(str(error)) from error
    found = checked_cluster(cluster, configuration)
    create = partial(build_plugin, plugin, _configs(configuration))
    result = check_plugin(lambda: create().with_counting(configuration.counting), found.snapshot, found.pods)
    size = f"{result.nodes} nodes and {result.pods} pods of {SAMPLE if cluster is None else cluster}"
    if output != Format.TABLE:
        content = {
            "plugin": plugin,
            "nodes": result.nodes,
            "pods": result.pods,
            "microsecondsPerNode": None if result.microseconds is None else round(result.microseconds, 1),
            "findings": [{"rule": each.rule, "message": each.message} for each in result.findings],
        }
        click.echo(render(content, output))
    elif not result.findings:
        click.echo(f"{plugin} keeps every rule on {size}; {result.microseconds:.1f} µs for a node")
    else:
        for each in result.findings:
            click.echo(f"{plugin}: {each}", err=True)
        click.echo(f"checked on {size}", err=True)
    sys.exit(1 if result.findings else 0)


def _configs(configuration: BerthConfiguration) -> list[PluginConfig]:
    """Of all profiles; of several for one plugin the last one."""
    definitions = configuration.definitions.values()
    return [*configuration.plugin_config, *(each for definition in definitions for each in definition.plugin_config)]
