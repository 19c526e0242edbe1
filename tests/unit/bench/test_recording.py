"""What records of decisions add to the thread of a call, counted: times are measured by `make bench`."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from tests.bench import cluster
from tests.bench.guard.counts import function_calls
from tests.bench.recording import KINDS, POLICIES, VERBS, World, kind_of
from tests.builders.requests import body_of, cache_mode

NODES = 200
MOST = 0.05
"""Of the functions of a warm call, in Python and in C; of the line of a sampled log, on the average of all calls."""


@pytest.mark.parametrize("profile", POLICIES)
@pytest.mark.parametrize("verb", VERBS)
def test_a_record_adds_few_function_calls_to_a_warm_call(verb: str, profile: str, tmp_path: Path) -> None:
    body = body_of(cache_mode(next(cluster.requested_names(NODES)), cluster.plain_pod()))
    counts: dict[str, int] = {}
    ratios: dict[str, float] = {}
    with ExitStack() as until_the_end:
        world = World(NODES, profile)
        for name in KINDS:
            kind = kind_of(name, world, tmp_path, until_the_end)
            for _ in range(3):
                kind.play(world, verb, body)
            counts[name] = function_calls(partial(world.call, verb, body, kind.recorder))
            ratios[name] = kind.ratio(counts[name], counts["none"])
            kind.drain()
    assert {name: ratio for name, ratio in ratios.items() if ratio > 1 + MOST} == {}


def test_the_benchmark_fails_where_a_record_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = body_of(cache_mode(next(cluster.requested_names(2)), cluster.plain_pod()))
    monkeypatch.setattr("berth.decisions.dynamodb_table.DynamoDBDecisionTable.put", _refuse)
    with ExitStack() as until_the_end:
        world = World(2, "label-priority")
        kind = kind_of("table", world, tmp_path, until_the_end)
        with pytest.raises(PermissionError):
            kind.play(world, "filter", body)


def _refuse(*_: object) -> None:
    raise PermissionError("no table")
