"""`berth plugin package`: a Lambda layer of plugins."""

from __future__ import annotations

from pathlib import Path

import click

from berth_cli.options import NAME_PARENT, REGION_HELP
from berth_cli.output import Format, output_option, render

ARCHITECTURES = ("arm64", "x86_64")
PYTHONS = ("3.11", "3.12", "3.13")

EPILOG = """\b
Examples:
  berth plugin package examples/custom-plugin --stack berth-production
  berth plugin package examples/custom-plugin --architecture x86_64 --python 3.12 --file plugins.zip
"""


@click.command(epilog=EPILOG)
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--file", type=click.Path(path_type=Path), help="Where to write; default: berth-plugins-VERSION.zip.")
@click.option("--stack", help="Stack that gets the layer: its Architecture and PythonRuntime are taken.")
@click.option("--region", help=REGION_HELP)
@click.option(
    "--architecture", type=click.Choice(ARCHITECTURES), help="Architecture, without --stack.  [default: arm64]"
)
@click.option("--python", type=click.Choice(PYTHONS), help="Version of Python, without --stack.  [default: 3.13]")
@output_option()
def package(
    directory: Path,
    file: Path | None,
    stack: str | None,
    region: str | None,
    architecture: str | None,
    python: str | None,
    output: str,
) -> None:
    """Build a Lambda layer of the package berth_plugins in DIR.

    berth_plugins/__init__.py has a line such as __version__ = "1.0.0". A requirements.txt in DIR is installed as wheels
    for the stack's platform; every requirement has a version and hashes. What every function of Berth has is left out.
    A module that cannot be imported is refused, unless it needs dependencies for another platform than this machine's.
    The same input makes the same file. Publish it as a version of a layer, and deploy the stack with its ARN as
    PluginLayerArn.

    Exit status: 0 written; 1 cannot be packaged; 2 usage error.
    """
    if stack is not None and (architecture or python):
        raise click.UsageError("--architecture and --python are those of the stack: leave them out, or --stack")
    # Imported here: a usage error must not wait for it.
    from berth_cli.plugin.layer import InvalidPackage, Platform, build_layer

    platform = Platform(architecture or "arm64", python or "3.13")
    if stack is not None:
        platform = Platform(*_platform_of(stack, region))
    if not (directory / "berth_plugins").is_dir():
        raise click.ClickException(f"{directory} has no folder berth_plugins; {NAME_PARENT}")
    try:
        layer = build_layer(directory, file, platform)
    except InvalidPackage as error:
        raise click.ClickException(str(error)) from error
    name = f"{stack}-plugins" if stack else "berth-plugins"
    if output != Format.TABLE:
        content = {
            "file": str(layer.file),
            "version": layer.version,
            "dependencies": layer.dependencies,
            "bytes": layer.size,
            "imported": layer.is_imported,
            "architecture": platform.architecture,
            "python": platform.python,
        }
        click.echo(render(content, output))
        return
    packages = "1 dependency" if layer.dependencies == 1 else f"{layer.dependencies} dependencies"
    click.echo(
        f"wrote {layer.file}: plugins {layer.version}, {packages}, {layer.size} bytes, for python{platform.python} on "
        f"{platform.architecture}"
    )
    if not layer.is_imported:
        click.echo("its modules were not imported here: the dependencies are for another platform")
    click.echo("publish it, and deploy the stack with the ARN as PluginLayerArn:")
    click.echo(
        f"  aws lambda publish-layer-version --layer-name {name} --description {layer.version} "
        f"--zip-file fileb://{layer.file} --compatible-runtimes python{platform.python} "
        f"--compatible-architectures {platform.architecture} --query LayerVersionArn --output text"
    )


def _platform_of(stack: str, region: str | None) -> tuple[str, str]:
    from berth_cli.sources.stack import StackUnavailable, describe

    try:
        parameters = describe(stack, region).parameters
    except StackUnavailable as error:
        raise click.ClickException(str(error)) from error
    return parameters.get("Architecture", "arm64"), parameters.get("PythonRuntime", "python3.13").removeprefix("python")
