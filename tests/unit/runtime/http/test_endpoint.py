"""The way of a request through a verb's function, and the one place where exceptions end."""

from __future__ import annotations

import base64

import pytest

from berth.extender.outcomes import BindOutcome, Failure
from berth.extender.reply import Reply, reply, status_reply
from berth.runtime.http.endpoint import Endpoint
from berth.runtime.http.events import body_of
from tests.fakes.log_lines import LogLines


def endpoint(answer: Reply | Exception) -> tuple[Endpoint, list[str | bytes]]:
    bodies: list[str | bytes] = []

    def answering(body: str | bytes) -> Reply:
        bodies.append(body)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return Endpoint("verb", answering, status_reply), bodies


def test_turns_reply_into_answer_and_log_line(log_lines: LogLines) -> None:
    handled, bodies = endpoint(reply({"ü": 1}, BindOutcome.BOUND, pod="ml/p", detail="done"))
    assert handled.handle({"body": "the body"}) == {
        "statusCode": 200,
        "headers": {"Content-Type": "application/json"},
        "body": '{"ü":1}',
        "isBase64Encoded": False,
    }
    assert bodies == ["the body"]
    [line] = log_lines.all()
    assert (line["verb"], line["outcome"], line["pod"], line["detail"]) == ("verb", "bound", "ml/p", "done")
    assert line["milliseconds"] >= 0


def test_decodes_base64_body() -> None:
    handled, bodies = endpoint(reply({}, BindOutcome.BOUND))
    handled.handle({"body": base64.b64encode(b"\xff{}").decode(), "isBase64Encoded": True})
    assert bodies == [b"\xff{}"]


@pytest.mark.parametrize("error", [ValueError("secret"), KeyError("secret"), RecursionError(), MemoryError()])
def test_turns_exception_into_failure_without_its_message(error: Exception, log_lines: LogLines) -> None:
    handled, _ = endpoint(error)
    answer = handled.handle({"body": '{"Pod": {"metadata": {"namespace": "ml", "name": "p"}}}'})
    assert answer["statusCode"] == 500
    assert answer["body"] == '{"Error":"Berth failed unexpectedly; the function\'s log has the cause"}'
    assert [(line["level"], line["pod"]) for line in log_lines.all()] == [("ERROR", "ml/p"), ("WARNING", "ml/p")]


@pytest.mark.parametrize("body", ["not JSON", "", "[]", '{"Pod": 7}', '{"Pod": {"metadata": 7}}', "{}", b"\xff"])
def test_turns_exception_into_failure_for_malformed_request(body: str | bytes) -> None:
    handled, _ = endpoint(ValueError())
    event = (
        {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
        if isinstance(body, bytes)
        else {"body": body}
    )
    assert handled.handle(event)["statusCode"] == 500


@pytest.mark.parametrize(
    ("event", "body"),
    [
        ({"body": "text"}, "text"),
        ({"body": "text", "isBase64Encoded": False}, "text"),
        ({"body": "dGV4dA==", "isBase64Encoded": True}, b"text"),
        ({"body": None}, ""),
        ({"body": None, "isBase64Encoded": True}, ""),
        ({}, ""),
    ],
)
def test_reads_body_of_event(event: dict[str, object], body: str | bytes) -> None:
    assert body_of(event) == body


@pytest.mark.parametrize(
    "event",
    [
        {"body": 7},
        {"body": {"Pod": {}}},
        {"body": "not base64!", "isBase64Encoded": True},
        {"body": "dGV4dA", "isBase64Encoded": True},
        {"body": "dGV4dA==\n", "isBase64Encoded": True},
        {"body": "tëxt", "isBase64Encoded": True},
    ],
)
def test_fails_when_body_cannot_be_read(event: dict[str, object]) -> None:
    assert isinstance(body_of(event), Failure)
