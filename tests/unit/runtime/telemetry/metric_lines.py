"""Metrics as CloudWatch reads them from the printed lines."""

from __future__ import annotations

from typing import Any

import orjson
import pytest


def printed(metrics: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    lines = [orjson.loads(line) for line in metrics.readouterr().out.splitlines()]
    return [line for line in lines if "_aws" in line]


def described(entry: dict[str, Any]) -> dict[str, tuple[str, list[list[str]]]]:
    """Return each metric's unit and sets of dimensions, and check that the line has a value for every dimension."""
    directives = entry["_aws"]["CloudWatchMetrics"]
    assert {directive["Namespace"] for directive in directives} == {"Berth"}
    assert all(name in entry for directive in directives for names in directive["Dimensions"] for name in names)
    return {
        metric["Name"]: (metric["Unit"], directive["Dimensions"])
        for directive in directives
        for metric in directive["Metrics"]
    }


def series(entries: list[dict[str, Any]]) -> set[tuple[str, ...]]:
    """Return each metric with the values of its dimensions: CloudWatch charges for each such series."""
    return {
        (metric["Name"], *(entry[name] for name in names))
        for entry in entries
        for directive in entry["_aws"]["CloudWatchMetrics"]
        for metric in directive["Metrics"]
        for names in directive["Dimensions"]
    }
