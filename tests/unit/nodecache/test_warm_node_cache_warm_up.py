"""Warm-up events: what they load for the next call, and with which reads."""

from __future__ import annotations

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.builders.nodes import labelled
from tests.fakes.verbs import Verbs

INTERVAL = BerthConfiguration.model_validate({"nodeCache": {"minHeadReadInterval": 2}})
COUNTING = BerthConfiguration.model_validate({"managedResources": [{"name": "example.com/slot"}]})


def test_warm_up_loads_new_data() -> None:
    verbs = Verbs([labelled("n1", "10")])
    assert verbs.cache.catch_up() == 1
    verbs.cluster.publish_nodes([labelled("n1", "20")])
    assert verbs.cache.catch_up() == 2
    verbs.table.calls.clear()
    verbs.cache.current()
    assert verbs.table.calls == ["head"]


def test_warm_up_reads_the_head_with_eventual_consistency() -> None:
    """A warm-up has no caller, and the next call reads again."""
    verbs = Verbs([labelled("n1", "10")])
    verbs.cache.current()
    verbs.table.calls.clear()
    verbs.cache.catch_up()
    assert verbs.table.calls == ["head_eventually"]


@pytest.mark.parametrize(
    "configuration",
    [
        pytest.param(INTERVAL, id="a call within the interval uses what was read"),
        pytest.param(COUNTING, id="reservations are read before the head"),
    ],
)
def test_warm_up_reads_the_latest_head_if_an_older_one_could_be_harmful(configuration: BerthConfiguration) -> None:
    verbs = Verbs([labelled("n1", "10")], configuration=configuration, ledger=InMemoryLedgerTable())
    verbs.cache.current()
    verbs.table.calls.clear()
    verbs.clock.advance(2.1)
    verbs.cache.catch_up()
    assert verbs.table.calls == ["head"]


def test_first_warm_up_of_an_environment_reads_the_latest_head() -> None:
    verbs = Verbs([labelled("n1", "10")])
    verbs.cache.catch_up()
    assert verbs.table.calls.count("head") == 1
    assert "head_eventually" not in verbs.table.calls


def test_warm_up_reads_the_latest_head_if_the_configuration_changed() -> None:
    """The one that it found may be an earlier one."""
    verbs = Verbs([labelled("n1", "10")])
    verbs.cache.current()
    verbs.store.apply('{"profile": "resource-segregation"}')
    verbs.table.calls.clear()
    verbs.cache.catch_up()
    assert verbs.table.calls == ["head_eventually", "head"]
