"""What `berth simulate` cannot work with."""

from __future__ import annotations

import click


class BadInput(click.ClickException):
    """A file that is not what it should be; the message names it. The exit status is that of a wrong option."""

    exit_code = 2
