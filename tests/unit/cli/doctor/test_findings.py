"""Findings that have their cause in another one: each cause is reported, and its effects name it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from berth_cli.doctor.findings import (
    STALE_CACHE,
    CheckName,
    Finding,
    Result,
    failed,
    ok,
    skip_effects,
    skipped,
    warning,
)

TABLE = failed(CheckName.TABLE, "no table", "deploy", explains=frozenset({CheckName.LEASE, CheckName.CACHE}))
LEASE = failed(CheckName.LEASE, "no lease", "wait", explains=frozenset({CheckName.CACHE}), is_effect=True)
WATCHER = failed(CheckName.WATCHER, "no watcher", "start", explains=frozenset({CheckName.LEASE}), is_effect=True)
CACHE = failed(CheckName.CACHE, "no cache", "look", explains=STALE_CACHE | {CheckName.WATCHER}, is_effect=True)
PREEMPT = failed(CheckName.PREEMPT_VERB, "no answer", "look", is_effect=True)
OLD = warning(CheckName.CACHE, "old", "look", is_effect=True)


def effect(finding: Finding, of: Finding) -> Finding:
    return skipped(finding.check, f"{finding.message}: see the check {of.check}")


@pytest.mark.parametrize(
    ("findings", "reported"),
    [
        pytest.param([TABLE, LEASE], [TABLE, effect(LEASE, TABLE)], id="an effect names its cause"),
        pytest.param([CACHE, PREEMPT], [CACHE, effect(PREEMPT, CACHE)], id="a check is not its own cause"),
        pytest.param([CACHE, CACHE], [CACHE, CACHE], id="nor are two findings of one check"),
        pytest.param([CACHE, WATCHER, LEASE], [CACHE, effect(WATCHER, CACHE), effect(LEASE, CACHE)], id="a circle"),
        pytest.param([LEASE, CACHE, WATCHER], [LEASE, effect(CACHE, LEASE), effect(WATCHER, LEASE)], id="in its order"),
        pytest.param(
            [WATCHER, LEASE, CACHE, TABLE],
            [effect(WATCHER, TABLE), effect(LEASE, TABLE), effect(CACHE, TABLE), TABLE],
            id="the first cause of a row of causes",
        ),
        pytest.param([TABLE, OLD], [TABLE, effect(OLD, TABLE)], id="a warning may be an effect"),
        pytest.param([OLD, PREEMPT], [OLD, PREEMPT], id="but is no cause"),
        pytest.param([ok(CheckName.TABLE, "read"), LEASE], [ok(CheckName.TABLE, "read"), LEASE], id="nor is success"),
    ],
)
def test_reports_each_cause_and_skips_its_effects(findings: Sequence[Finding], reported: Sequence[Finding]) -> None:
    assert skip_effects(findings) == reported


@pytest.mark.parametrize("first", range(5))
def test_what_fails_is_never_skipped_as_a_whole(first: int) -> None:
    """A report without a failure has exit status 0."""
    findings = [CACHE, WATCHER, LEASE, PREEMPT, OLD]
    assert any(each.result is Result.FAILED for each in skip_effects(findings[first:] + findings[:first]))
