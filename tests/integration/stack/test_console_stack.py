"""What `berth console --stack` reads, from the tables of a stack in DynamoDB."""

from __future__ import annotations

import pytest

from berth_cli.console import sources
from berth_cli.console.cluster import NotRead, ObservedCluster
from berth_cli.console.running import ConsoleContents
from berth_cli.serve.stores import CACHE_TABLE, LEDGER_TABLE
from berth_cli.sources.stack import CACHE_TABLE_NAME, LEDGER_TABLE_NAME, DeployedStack


@pytest.fixture
def shown(stack: object, monkeypatch: pytest.MonkeyPatch) -> ConsoleContents:
    deployed = DeployedStack(
        "berth",
        None,
        {"Profile": "resource-segregation"},
        {CACHE_TABLE_NAME: CACHE_TABLE, LEDGER_TABLE_NAME: LEDGER_TABLE},
    )
    monkeypatch.setattr(sources, "describe", lambda *_: deployed)
    return sources.stack_contents("berth", None, 1)


def observed(shown: ConsoleContents) -> ObservedCluster:
    found = shown.source.observe(0)
    assert isinstance(found, ObservedCluster)
    return found


def test_node_cache_is_shown_with_the_profile_of_the_stack_where_no_configuration_is_applied(
    shown: ConsoleContents,
) -> None:
    found = observed(shown)
    assert sorted(found.snapshot.nodes) == ["n10", "n20", "plain", "worded"]
    assert found.configured.document.profile == "resource-segregation"


def test_decisions_say_what_to_apply_where_the_stack_keeps_none_in_its_table(shown: ConsoleContents) -> None:
    observed(shown)
    assert shown.decisions is not None
    assert shown.decisions.all() == NotRead(
        "the stack berth keeps no decisions in its table: decisions is log; apply decisions: table"
    )


def test_gangs_that_are_being_bound_are_those_of_the_ledgers_table(shown: ConsoleContents) -> None:
    assert shown.gang_table is not None
    assert list(shown.gang_table().gangs()) == []
