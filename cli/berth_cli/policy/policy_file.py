"""Read a policy for `berth policy`: a document with an error is bad input."""

from __future__ import annotations

from pathlib import Path

import click

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.config.document import load_document
from berth_cli.simulate.documents import InvalidInput


def read_policy(file: Path) -> BerthConfiguration:
    """The configuration in the file. Raises InvalidInput with one line for each invalid field."""
    try:
        return load_document(file).configuration
    except click.ClickException as error:
        raise InvalidInput(error.message) from error
