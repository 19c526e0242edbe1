"""Gangs as the commands print them: the state comes from the gang's item and from filter's view of the gang."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from berth.ledger.gangs.item import Domain, GangItem, GangState
from berth.scheduling.gangs.overview import GangStage, GangStatus, MemberStatus
from berth.upkeep.gangs import EXPIRY_SECONDS
from berth_cli.ledger.claims import NotRead
from berth_cli.ledger.gangs import Gangs, document
from tests.builders.gang_items import TRAIN, claim, gang, intent

NOW = 1_800_000_000.0
TWO = [intent("train-0", "n0", until=NOW + 3), intent("train-1", "n1", until=NOW - 1)]
WAITING = GangStatus(
    TRAIN,
    GangStage.HAS_PLACES,
    2,
    7,
    NOW - 300,
    "",
    "",
    (MemberStatus("train-0", "uid-train-0", place="n0"), MemberStatus("train-1", "uid-train-1")),
)
ON_ONE = replace(
    WAITING, stage=GangStage.PLACED, members=(replace(WAITING.members[0], node="n0", place=""), WAITING.members[1])
)


NOT_FIT = "gang does not fit: Insufficient example.com/gpu"
HELD = "its counted resources are being held, node by node"
ONE = "1 of 2 members are on nodes"


def item(state: GangState, age: float = 1.0) -> GangItem:
    return gang(TWO, state=state, at=NOW - age, reason=NOT_FIT)


LONG_AGO, ENDED = item(GangState.COMMITTED, EXPIRY_SECONDS), item(GangState.ENDED)


def shown(found: Gangs) -> dict[str, Any]:
    content: Any = document(found, NOW)
    [each] = content["gangs"]
    return dict(each)


@pytest.mark.parametrize(
    ("found", "state", "waits_for"),
    [
        pytest.param(Gangs([item(GangState.OPEN)]), "open", "1 of 2 members are in bind", id="in bind"),
        pytest.param(Gangs([item(GangState.PREPARING)]), "preparing", HELD, id="in two phases"),
        pytest.param(Gangs([item(GangState.ROLLING_BACK)]), "rolling-back", NOT_FIT, id="rolled back"),
        pytest.param(Gangs([item(GangState.COMMITTED)], statuses=[ON_ONE]), "committed", "", id="just committed"),
        pytest.param(Gangs([LONG_AGO], statuses=[ON_ONE]), "degraded", ONE, id="committed with a missing member"),
        pytest.param(Gangs([LONG_AGO], statuses=NotRead("away")), "committed", "", id="committed with unknown pods"),
        pytest.param(Gangs([ENDED]), "ended", NOT_FIT, id="ended"),
        pytest.param(Gangs([ENDED], statuses=[WAITING]), "has-places", "the scheduler's next try", id="ended, retried"),
        pytest.param(
            Gangs(domain=Domain(claim("other", until=NOW + 9), 3), statuses=[WAITING]),
            "has-places",
            "ml/other, which is being placed",
            id="another gang is open",
        ),
        pytest.param(
            Gangs(statuses=[replace(WAITING, stage=GangStage.WAITS_FOR_MEMBERS, waits_for="1 of 2 members exist")]),
            "waits-for-members",
            "1 of 2 members exist",
            id="never arrived in bind",
        ),
        pytest.param(Gangs(statuses=[ON_ONE]), "degraded", ONE, id="committed members run"),
    ],
)
def test_reports_the_state_of_a_gang_and_the_reason_why_it_waits(found: Gangs, state: str, waits_for: str) -> None:
    each = shown(found)
    assert (each["state"], each["waitsFor"]) == (state, waits_for)


def test_counts_members_by_state() -> None:
    each = shown(Gangs([item(GangState.OPEN)], statuses=[WAITING]))
    assert each["members"] == {"exist": 2, "inBind": 1, "onNodes": 0}


def test_returns_the_open_gang_until_its_turn_expires() -> None:
    assert document(Gangs(domain=Domain(claim("other", until=NOW + 1), 1)), NOW)["open"] == "ml/other"
    assert document(Gangs(domain=Domain(claim("other", until=NOW - 1), 1)), NOW)["open"] is None
