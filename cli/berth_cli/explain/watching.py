"""`--watch`: the explanation again whenever it says something else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from berth_cli.explain.answer import Answer
from berth_cli.input_files import InvalidInput

SECONDS = 5.0
"""From one explanation to the next: a list of a large cluster takes seconds of the API server."""

_CHANGING = frozenset({"time", "cacheAgeSeconds"})
"""Keys of an attempt that differ from one to the next whatever it says."""


def watch(explain: Callable[[], Answer], show: Callable[[Answer | str], None], wait: Callable[[], None]) -> int:
    """Show the explanation, and again when it changes, until the pod needs no node any more. Returns the exit status.

    A source that cannot be read in between is shown in one line. Ctrl-C ends it, too: the status is the last one.
    """
    status, shown = 1, object()
    try:
        while True:
            try:
                found: Answer | str = explain()
            except InvalidInput as error:
                found = error.message
            said = found if isinstance(found, str) else _said(found.document)
            if said != shown:
                show(found)
                shown = said
            if isinstance(found, str):
                status = InvalidInput.exit_code
            else:
                status = found.status
                if found.is_final:
                    return status
            wait()
    except KeyboardInterrupt:
        return status


def _said(document: Mapping[str, Any]) -> Mapping[str, object]:
    """What the explanation says: of the attempts only the last one, and not when it was."""
    last = (
        {key: value for key, value in document["attempts"][-1].items() if key not in _CHANGING}
        if document.get("attempts")
        else {}
    )
    bind = document.get("bind") or {}
    rest = {key: value for key, value in document.items() if key not in ("attempts", "changes", "bind", "notes")}
    return {**rest, "last": last, "bind": {key: value for key, value in bind.items() if key != "at"}}
