"""`berth plugin`: checks custom plugins, and builds a Lambda layer from them."""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click

from berth.scheduling.configuration.plugin_config import build_plugin
from berth.scheduling.plugins.custom_plugins import NotAPlugin, custom_plugin
from berth_cli.configuration.document import load_configuration
from berth_cli.terminal.options import NAME_PARENT, plugins_option
from berth_cli.terminal.output import Format, output_option, render

ARCHITECTURES = ("arm64", "x86_64")
PYTHONS = ("3.11", "3.12", "3.13")

CHECK_EPILOG = """\b
Examples:
  berth plugin check berth_plugins.team_nodes:TeamNodes --plugins examples/custom-plugin
  berth plugin check berth_plugins.team_nodes:TeamNodes --plugins . --cluster dump.json --config berth.yaml
"""
PACKAGE_EPILOG = """\b
Examples:
  berth plugin package examples/custom-plugin
  berth plugin package examples/custom-plugin --architecture x86_64 --python 3.12 --file plugins.zip
"""


@click.group()
def plugin() -> None:
    """Check custom plugins, and build a Lambda layer from them."""


@plugin.command(epilog=CHECK_EPILOG)
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
    """Check a custom plugin on a cluster.

    The check filters and scores the pods of the cluster, and variants of its pods and nodes with small changes. The
    rules: the plugin does not raise exceptions; results have the right type; scores are integers of 0 to 100; pods of
    one `shape` get the same result; fields that `reads` omits do not matter; the same call returns the same result each
    time; the plugin does not do I/O or use the clock or random numbers; an updated state gives the same results as a
    new one; a rejected pod can fit only after a change that the plugin registers; a node takes at most 200 microseconds
    of processor time.

    Exit status: 0 all rules hold; 1 a rule is broken, or the plugin does not exist; 2 usage error.
    """
    # Imported here: usage errors must not wait for this import.
    from berth_cli.configuration.plugin_cluster import SAMPLE, checked_cluster, plugin_configs
    from berth_testing.checks import check_plugin

    configuration = load_configuration(config, None)
    try:
        custom_plugin(plugin)
    except NotAPlugin as error:
        raise click.ClickException(str(error)) from error
    snapshot, pods = checked_cluster(cluster, configuration)
    create = partial(build_plugin, plugin, plugin_configs(configuration))
    result = check_plugin(lambda: create().with_counting(configuration.counting), snapshot, pods)
    size = f"{result.nodes} nodes and {result.pods} pods of {SAMPLE if cluster is None else cluster}"
    if output != Format.TABLE:
        click.echo(render({"plugin": plugin, **asdict(result)}, output))
    elif not result.findings:
        click.echo(f"{plugin} keeps every rule on {size}; {result.microseconds:.1f} µs for a node")
        for warning in result.warnings:
            click.echo(f"{plugin}: warning: {warning}; try another --cluster, or arguments with --config", err=True)
    else:
        for each in result.findings:
            click.echo(f"{plugin}: {each}", err=True)
        click.echo(f"checked on {size}", err=True)
    sys.exit(1 if result.findings else 0)


@plugin.command(epilog=PACKAGE_EPILOG)
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--file", type=click.Path(path_type=Path), help="Where to write; default: berth-plugins-VERSION.zip.")
@click.option(
    "--architecture",
    type=click.Choice(ARCHITECTURES),
    default="arm64",
    show_default=True,
    help="The stack's parameter Architecture.",
)
@click.option("--python", type=click.Choice(PYTHONS), default="3.13", show_default=True, help="The functions' Python.")
def package(directory: Path, file: Path | None, architecture: str, python: str) -> None:
    """Build a Lambda layer from the package berth_plugins in DIR.

    berth_plugins/__init__.py has a line such as __version__ = "1.0.0". A requirements.txt in DIR is installed as wheels
    for the stack's platform; every requirement needs a version and hashes. Packages that all functions of Berth include
    are left out. The modules are imported once as a test, unless the dependencies are for a platform other than this
    machine's. The same input produces the same file. Publish it as a layer version, and deploy the stack with its ARN
    as PluginLayerArn.

    Exit status: 0 written; 1 cannot be packaged; 2 usage error.
    """
    # Imported here: usage errors must not wait for this import.
    from berth_cli.installation.plugin_layer import build_layer

    if not (directory / "berth_plugins").is_dir():
        raise click.ClickException(f"{directory} has no folder berth_plugins; {NAME_PARENT}")
    layer = build_layer(directory, file, architecture, python)
    packages = "1 dependency" if layer.dependencies == 1 else f"{layer.dependencies} dependencies"
    click.echo(
        f"wrote {layer.file}: plugins {layer.version}, {packages}, {layer.size} bytes, for python{python} on "
        f"{architecture}"
    )
    if not layer.is_imported:
        click.echo("its modules were not imported here: the dependencies are for another platform")
    if not layer.is_compiled:
        click.echo(f"warning: no byte-code: every cold start compiles the modules; install python{python}", err=True)
    click.echo("publish it, and deploy the stack with the ARN as PluginLayerArn:")
    click.echo(
        f"  aws lambda publish-layer-version --layer-name STACK-plugins --description {layer.version} "
        f"--zip-file fileb://{layer.file} --compatible-runtimes python{python} "
        f"--compatible-architectures {architecture} --query LayerVersionArn --output text"
    )
