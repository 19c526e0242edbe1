"""POST /gangs/release: it ends the placement that the caller has read in GET /gangs, and no other."""

from __future__ import annotations

import orjson
import pytest

from berth.dynamodb_errors import TableUnavailable
from berth.gangs.item import Domain, GangState
from berth.gangs.table import GangTable
from berth.runtime.http.answers import HTTPAnswer
from berth.runtime.http.endpoint import EndpointSettings
from berth_cli.embedded_store.gang_table import InMemoryGangTable
from berth_cli.embedded_store.ledger_table import InMemoryLedgerTable
from berth_cli.gangs.report import Gangs, document
from berth_cli.serve.endpoints.gang_release import GangReleaseEndpoint
from tests.builders.events import http_event
from tests.builders.gang_items import TRAIN, claim, gang, intent

NOW = 1_800_000_000.0


def answer(table: GangTable | None, body: object) -> HTTPAnswer:
    endpoint = GangReleaseEndpoint(EndpointSettings(), None if table is None else lambda: table, lambda: NOW)
    return endpoint.handle(http_event(orjson.dumps(body), "POST /gangs/release"))


def result(found: HTTPAnswer) -> str:
    assert found["statusCode"] == 200
    content: dict[str, str] = orjson.loads(found["body"])
    return content["result"]


def opened(state: GangState = GangState.OPEN) -> InMemoryGangTable:
    """With a member in bind; the domain names the gang while it is open."""
    table = InMemoryGangTable(InMemoryLedgerTable())
    if state is GangState.OPEN:
        table.put_domain(Domain(claim(until=NOW + 9), 1), Domain())
    table.put(gang([intent(until=NOW + 9)], state=state, at=NOW - 2), None)
    return table


def shown(table: GangTable) -> dict[str, object]:
    """What the caller has read."""
    [found] = orjson.loads(orjson.dumps(document(Gangs(list(table.gangs()), table.domain()), NOW)))["gangs"]
    return {"gang": found["gang"], "revision": found["revision"]}


@pytest.mark.parametrize(
    ("state", "wanted", "after"),
    [
        (GangState.OPEN, "released", GangState.ENDED),
        (GangState.COMMITTED, "committed", GangState.COMMITTED),
        (GangState.ENDED, "not-open", GangState.ENDED),
    ],
)
def test_ends_what_is_under_way(state: GangState, wanted: str, after: GangState) -> None:
    table = opened(state)
    assert result(answer(table, shown(table))) == wanted
    found = table.gang(TRAIN)
    assert found is not None
    assert (found.state, table.domain().open) == (after, None)


def test_writes_nothing_when_a_member_came_after_the_caller_has_read() -> None:
    table = opened()
    asked = shown(table)
    table.join(TRAIN, 1, intent("train-1", "n0", until=NOW + 9))
    assert result(answer(table, asked)) == "changed"
    found = table.gang(TRAIN)
    assert found is not None
    assert found.state is GangState.OPEN


def test_writes_nothing_when_the_gang_has_the_domain_again() -> None:
    table = opened(GangState.ENDED)
    asked = shown(table)
    table.put_domain(Domain(claim(until=NOW + 9), 1), table.domain())
    assert result(answer(table, asked)) == "changed"
    assert table.domain().open is not None


def test_nobody_is_in_bind_where_there_is_no_table() -> None:
    assert result(answer(None, {"gang": "ml/train", "revision": "0-0"})) == "not-open"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"gang": "ml/train"}, id="no revision"),
        pytest.param({"gang": "train", "revision": "1-1"}, id="no namespace"),
        pytest.param({"gang": 1, "revision": "1-1"}, id="no text"),
        pytest.param(["ml/train"], id="no object"),
    ],
)
def test_another_body_is_answered_with_400_and_the_form(body: object) -> None:
    table = opened()
    found = answer(table, body)
    assert found["statusCode"] == 400
    assert "NAMESPACE/GANG" in orjson.loads(found["body"])["reason"]
    assert table.domain().open is not None


def test_answers_503_if_the_table_cannot_be_read() -> None:
    class Away(InMemoryGangTable):
        def domain(self) -> Domain:
            raise TableUnavailable("the table is throttled")

    found = answer(Away(InMemoryLedgerTable()), {"gang": "ml/train", "revision": "1-1"})
    assert (found["statusCode"], orjson.loads(found["body"])) == (503, {"reason": "the table is throttled"})
