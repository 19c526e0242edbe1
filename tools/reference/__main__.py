"""`python -m tools.reference --write | --check`."""

from __future__ import annotations

import sys

import click

from tools.reference.pages import FOLDER, pages, stale


@click.command()
@click.option("--write/--check", required=True, help="Write the pages, or fail when one of them is out of date.")
def main(write: bool) -> None:
    """Write or check the generated pages of docs/reference."""
    if write:
        for name, text in pages().items():
            (FOLDER / name).write_text(text, encoding="utf-8")
        return
    if names := stale():
        click.echo(f"out of date: {', '.join(names)} in {FOLDER.name}; run: make reference", err=True)
        sys.exit(1)


main()
