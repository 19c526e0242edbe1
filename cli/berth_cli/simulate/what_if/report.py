"""The output of `berth simulate` with changes: every pod before and after, and the cluster's figures."""

from __future__ import annotations

from collections.abc import Iterator

from berth_cli.simulate.comparison.report import comparison_document, figure_rows, pod_rows
from berth_cli.simulate.report import left_out
from berth_cli.simulate.what_if.what_if import WhatIf


def what_if_lines(found: WhatIf) -> Iterator[str]:
    """As a table, with the figures under it."""
    if found.comparison.pods:
        yield from pod_rows(found.comparison.pods)
        yield ""
    yield from figure_rows(found.comparison)
    if found.notes:
        yield ""
    yield from found.notes
    yield from left_out(found.queue, found.unreadable)


def what_if_document(found: WhatIf) -> dict[str, object]:
    """As a JSON object."""
    content = comparison_document(found.comparison, found.comparison.pods)
    return content | {"notes": list(found.notes), "unreadable": dict(found.unreadable)}
