"""Options of `berth serve` that belong together."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest

from berth_cli.server.options import ServeOptions, http_timeout_of


@pytest.mark.parametrize(
    ("is_dynamodb", "config", "warnings"),
    [
        pytest.param(False, Path("berth.yaml"), [], id="memory: the file is followed"),
        pytest.param(True, None, [], id="no file"),
        pytest.param(
            True,
            Path("berth.yaml"),
            [
                "berth.yaml is in use only until a document is applied to the shared tables, and a change of it has no "
                "effect; apply it: berth config apply FILE --cache-table berth-cache"
            ],
            id="shared tables",
        ),
    ],
)
def test_warns_that_shared_tables_ignore_the_file(is_dynamodb: bool, config: Path | None, warnings: list[str]) -> None:
    given = dict.fromkeys(each.name for each in fields(ServeOptions))
    options: Any = {**given, "store_kind": "dynamodb" if is_dynamodb else "memory", "config": config}
    assert list(ServeOptions(**options).store_warnings()) == warnings


@pytest.mark.parametrize("text", ["1s", "31s", "5", "soon"])
def test_http_timeout_is_a_duration_from_2_to_30_seconds(text: str) -> None:
    assert [http_timeout_of(valid) for valid in ("5s", "2s", "30s")] == [5.0, 2.0, 30.0]
    with pytest.raises(click.UsageError, match="is no duration from 2s to 30s"):
        http_timeout_of(text)
