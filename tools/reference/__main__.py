"""`python -m tools.reference --write | --check`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from berth_cli.configuration.schema import schema_text
from tools.reference.command_line import command_line
from tools.reference.configuration import configuration
from tools.reference.demo_picture import demo_picture
from tools.reference.kubernetes_versions import kubernetes_versions
from tools.reference.template_parameters import template_parameters

DOCS = Path(__file__).resolve().parents[2] / "docs"
GENERATED: Mapping[str, Callable[[], str]] = {
    "reference/cli.md": command_line,
    "reference/configuration.md": configuration,
    "reference/kubernetes-versions.md": kubernetes_versions,
    "reference/template-parameters.md": template_parameters,
    "configuration.schema.json": schema_text,
    "images/demo.svg": demo_picture,
}


def outdated(generated: Mapping[str, Callable[[], str]] = GENERATED, folder: Path = DOCS) -> dict[str, str]:
    """Return the generated texts that differ from their files, or whose files are missing."""
    texts = {name: generate() for name, generate in generated.items()}
    files = {name: folder / name for name in texts}
    return {name: text for name, text in texts.items() if not files[name].is_file() or files[name].read_text() != text}


@click.command()
@click.option("--write/--check", required=True, help="Write the files, or fail if one of them is out of date.")
def main(write: bool) -> None:
    """Write or check the generated files."""
    found = outdated()
    for name, text in found.items():
        if write:
            (DOCS / name).write_text(text)
        click.echo(f"docs/{name}: {'written' if write else 'out of date; run: make reference'}")
    sys.exit(bool(found) and not write)


if __name__ == "__main__":
    main()
