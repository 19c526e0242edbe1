"""How far a long piece of work has come: a bar on standard error, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(title: str, total: int, *, wanted: bool = True) -> Iterator[Callable[[int], None]]:
    """Gives what is told how much more has been done of `total`. The bar goes when the work is done."""
    if not wanted or not sys.stderr.isatty():
        yield lambda _: None
        return
    # Only now: it takes a tenth of a second to import.
    from rich.console import Console
    from rich.progress import Progress

    # Standard output is for the result; rich would put it on the bar's console.
    with Progress(console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(title, total=total)
        yield lambda more: bar.advance(task, more)
