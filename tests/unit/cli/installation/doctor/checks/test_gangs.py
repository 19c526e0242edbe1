"""The check of gangs: what they need of kube-scheduler's configuration."""

from __future__ import annotations

from typing import Any

import pytest

from berth.scheduling.gangs.gang import GangsConfiguration
from berth_cli.installation.doctor.checks.gangs import check_gang_scheduling
from berth_cli.installation.doctor.findings import Result
from berth_cli.installation.extenders import ManagedResource, ManagedResources
from tests.builders.gangs import ENABLED
from tests.unit.cli.installation.doctor.finding_assertions import expect
from tests.unit.cli.installation.doctor.scheduler_documents import document, side

CHECK = "gangs"
COUNTED = ManagedResources((ManagedResource("example.com/licence"),))


@pytest.mark.parametrize(
    ("managed", "changes", "result", "message"),
    [
        pytest.param(ManagedResources(gangs=True), {}, Result.OK, "every pod", id="output of scheduler-config"),
        pytest.param(
            ManagedResources(COUNTED.resources, gangs=True), {}, Result.OK, "every pod", id="with counted resources"
        ),
        pytest.param(
            COUNTED, {}, Result.FAILED, "only pods that request a managed resource", id="printed without gangs"
        ),
        pytest.param(ManagedResources(), {"bindVerb": None}, Result.FAILED, "does not bind", id="no bind"),
        pytest.param(ManagedResources(), {"filterVerb": None}, Result.FAILED, "gangs have no plan", id="no filter"),
        pytest.param(
            ManagedResources(), {"httpTimeout": "3s"}, Result.WARNING, "lets a member wait 0.5 s", id="a short time"
        ),
    ],
)
def test_reports_missing_settings_in_the_scheduler_configuration(
    managed: ManagedResources, changes: dict[str, Any], result: Result, message: str
) -> None:
    expect(check_gang_scheduling(side(document(managed, **changes)), ENABLED), CHECK, result, message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"podMaxBackoffSeconds": 60}, "after up to 60 s", id="a longer backoff"),
        pytest.param({}, "after up to 10 s", id="kube-scheduler's default backoff"),
    ],
)
def test_warns_about_a_long_backoff(changes: dict[str, int], message: str) -> None:
    found = side({**document(), **changes})
    expect(check_gang_scheduling(found, ENABLED), CHECK, Result.WARNING, message)


def test_does_not_check_if_gangs_are_disabled() -> None:
    assert list(check_gang_scheduling(side(document(bindVerb=None)), GangsConfiguration())) == []
