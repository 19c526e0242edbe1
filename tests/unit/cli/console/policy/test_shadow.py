"""What a second policy does to the pods of live decisions."""

from __future__ import annotations

import orjson
import pytest

from berth_cli.console.documents.not_read import NotRead
from berth_cli.console.http.access import Refusal
from berth_cli.console.policy.shadow import NO_SHADOW, SHADOW, Shadow, ShadowDocuments
from berth_cli.console.running_server.shadow import server_shadow
from berth_cli.sources.server import HttpResponse, NoResponse
from tests.fakes.doctor import answered
from tests.unit.cli.console.running_server.cases import REFUSED, Routes

DISAGREEMENT = {
    "time": 5.0,
    "namespace": "ml",
    "name": "p",
    "result": "newly-pending",
    "before": "n1",
    "after": None,
    "rules": [{"plugin": "NodePriorityLabel", "reason": "no label", "nodes": 3}],
}
DOCUMENT = {"decisions": {"same": 4, "newly-pending": 1}, "disagreements": [DISAGREEMENT]}


def answer(shadow: Shadow | None) -> bytes | Refusal:
    return ShadowDocuments(shadow).by_path[SHADOW]({})


def test_document_is_that_of_the_server_in_this_process() -> None:
    found = answer(lambda: DOCUMENT)
    assert isinstance(found, bytes)
    assert orjson.loads(found) == DOCUMENT


def test_document_is_that_of_a_server_elsewhere() -> None:
    assert server_shadow(Routes(routes={"shadow": answered(DOCUMENT)}).server) == DOCUMENT


@pytest.mark.parametrize(
    ("found", "status"),
    [
        pytest.param(answered({"message": "Not Found"}, 404), 404, id="started without a second policy"),
        pytest.param(REFUSED, 503, id="no answer"),
        pytest.param(answered({"disagreements": [{}]}), 503, id="another document"),
    ],
)
def test_server_without_a_shadow_is_told_from_one_that_cannot_be_read(
    found: HttpResponse | NoResponse, status: int
) -> None:
    server = Routes(routes={"shadow": found}).server
    refusal = answer(lambda: server_shadow(server))
    assert isinstance(refusal, Refusal)
    assert (refusal.status, refusal.reason == NO_SHADOW) == (status, status == 404)


def test_console_without_verbs_says_how_to_start_a_shadow() -> None:
    refusal = answer(None)
    assert isinstance(refusal, Refusal)
    assert "--shadow FILE" in refusal.reason
    assert isinstance(server_shadow(Routes(routes={"shadow": REFUSED}).server), NotRead)
