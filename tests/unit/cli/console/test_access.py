"""Access to the console, and the security headers of its responses."""

from __future__ import annotations

import logging
import re
from posixpath import dirname, join, normpath

import orjson
import pytest

from berth_cli.console.access import MAX_SESSIONS
from berth_cli.console.application import MAX_QUERY, Query
from tests.unit.cli.console.cases import ORIGIN, running

DATA = "/api/cluster"


@pytest.mark.parametrize("path", ["/api/cluster", "/api/pods"])
@pytest.mark.parametrize(
    "credential",
    [
        pytest.param(None, id="without a session"),
        pytest.param("Bearer guessed", id="with another key"),
        pytest.param("Bearer ", id="with an empty key"),
        pytest.param("Bearer secret-0", id="with the token itself"),
        pytest.param("Basic secret-1", id="with another scheme"),
        pytest.param("Bearer \xff", id="with bytes that are not a key"),
    ],
)
def test_data_requires_a_session(path: str, credential: str | None) -> None:
    status, _, body = running().ask(path, query="since=0", authorization=credential)
    assert status == 401
    assert b"n1" not in body


def test_token_opens_one_session_and_a_new_token_is_printed() -> None:
    console = running()
    key = console.session()
    assert console.tokens == ["secret-0", "secret-1"]
    assert console.ask(DATA, authorization=f"Bearer {key}")[0] == 200
    status, _, body = console.ask("/session", "POST", origin=ORIGIN, authorization="Bearer secret-0")
    assert (status, orjson.loads(body)) == (
        401,
        {
            "reason": "this address was used before, or is of another console; open the address that berth console "
            "printed last"
        },
    )


def test_session_key_of_an_earlier_process_is_rejected() -> None:
    key = running().session()
    assert running(secrets="again").ask(DATA, authorization=f"Bearer {key}")[0] == 401


def test_logs_do_not_contain_secrets(caplog: pytest.LogCaptureFixture) -> None:
    console = running()
    with caplog.at_level(logging.DEBUG):
        token = console.tokens[-1]
        console.ask("/session", "POST", origin=ORIGIN, authorization="Bearer guessed")
        key = console.session()
        console.ask("/session", "POST", origin=ORIGIN, authorization=f"Bearer {token}")
        console.ask(DATA, authorization="Bearer guessed")
    assert "POST /session: refused-token" in caplog.text
    assert not [each for each in (token, key, "guessed") if each in caplog.text]


def test_oldest_session_ends_if_there_are_too_many() -> None:
    console = running()
    keys = [console.session() for _ in range(MAX_SESSIONS + 1)]
    assert console.ask(DATA, authorization=f"Bearer {keys[0]}")[0] == 401
    assert console.ask(DATA, authorization=f"Bearer {keys[1]}")[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        pytest.param("evil.example:8090", id="a name that resolves to this machine"),
        pytest.param("127.0.0.1:9999", id="another port"),
        pytest.param("127.0.0.1", id="no port"),
        pytest.param(None, id="no Host"),
    ],
)
@pytest.mark.parametrize("path", ["/", DATA])
def test_request_with_unknown_host_is_rejected(host: str | None, path: str) -> None:
    console = running()
    status, _, body = console.ask(path, host=host, authorization=f"Bearer {console.session()}")
    assert status == 421
    assert b"<html" not in body


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"origin": "http://evil.example"}, id="Origin of another site"),
        pytest.param({"origin": "http://127.0.0.1:9999"}, id="Origin of another port"),
        pytest.param({"origin": "https://127.0.0.1:8090"}, id="Origin of another scheme"),
        pytest.param({"origin": "null"}, id="Origin of a sandbox"),
        pytest.param({"sec_fetch_site": "cross-site"}, id="a request from another site"),
        pytest.param({"sec_fetch_site": "same-site"}, id="a request from another port"),
    ],
)
def test_request_from_another_page_is_rejected(headers: dict[str, str]) -> None:
    console = running()
    key = console.session()
    assert console.ask(DATA, authorization=f"Bearer {key}", **headers)[0] == 403
    assert console.ask("/session", "POST", authorization="Bearer secret-1", **{"origin": ORIGIN, **headers})[0] == 403


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS"])
def test_session_is_opened_only_by_post(method: str) -> None:
    assert running().ask("/session", method, origin=ORIGIN)[0] == 405


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE"])
@pytest.mark.parametrize("path", ["/", DATA])
def test_console_accepts_only_get_for_data(method: str, path: str) -> None:
    console = running()
    status, headers, _ = console.ask(path, method, authorization=f"Bearer {console.session()}", origin=ORIGIN)
    assert (status, headers["allow"]) == (405, "GET")


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/../command.py",
        "/model/../../command.py",
        "/%2e%2e/command.py",
        "//main.js",
        "/model",
        "/model/",
        "/api",
        "/api/",
        "/API/nodes",
        "",
    ],
)
def test_unknown_paths_return_404(path: str) -> None:
    status, _, body = running().ask(path)
    assert (status, orjson.loads(body)) == (404, {"reason": "there is no such path; the page is at /"})


@pytest.mark.parametrize("header", [{"content_length": "1"}, {"transfer_encoding": "chunked"}])
def test_request_with_a_body_is_rejected_and_its_connection_closed(header: dict[str, str]) -> None:
    console = running()
    status, headers, _ = console.ask("/session", "POST", origin=ORIGIN, authorization="Bearer secret-0", **header)
    assert (status, headers["connection"]) == (413, "close")
    assert console.tokens == ["secret-0"]


@pytest.mark.parametrize("query", ["since=1&since=2", "x=" + "y" * MAX_QUERY, "x=\xff"])
def test_unreadable_query_is_rejected(query: str) -> None:
    console = running()
    assert console.ask(DATA, query=query, authorization=f"Bearer {console.session()}")[0] == 400


def defective(_: Query) -> bytes:
    raise ZeroDivisionError


def test_exception_is_reported_without_closing_the_connection() -> None:
    console = running(documents={"/api/slow": defective})
    assert console.data("/api/slow") == (500, {"reason": "the console cannot answer: ZeroDivisionError"})


@pytest.mark.parametrize(
    ("path", "method", "headers"),
    [
        pytest.param("/", "GET", {}, id="the page"),
        pytest.param("/main.js", "GET", {}, id="a script"),
        pytest.param(DATA, "GET", {}, id="a refusal"),
        pytest.param("/nothing", "GET", {}, id="an unknown path"),
        pytest.param("/session", "POST", {"origin": ORIGIN, "authorization": "Bearer secret-0"}, id="a session"),
        pytest.param("/", "GET", {"host": "evil.example"}, id="another host"),
    ],
)
def test_every_response_has_the_security_headers(path: str, method: str, headers: dict[str, str]) -> None:
    _, found, _ = running().ask(path, method, **headers)
    assert found["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    assert found["x-content-type-options"] == "nosniff"
    assert found["cache-control"] == "no-store"
    assert found["referrer-policy"] == "no-referrer"
    assert found["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in found
    assert "set-cookie" not in found


def test_page_contains_neither_inline_code_nor_external_resources() -> None:
    page = running().ask("/")[2].decode()
    assert "<style" not in page
    assert " style=" not in page
    assert "http:" not in page.replace("http://www.w3.org", "")
    assert "https:" not in page
    assert not re.search(r"\son\w+=", page)
    assert page.count("<script") == page.count('<script type="module" src="/main.js"></script>') == 1


def test_serves_every_module_of_the_page() -> None:
    """Follows every import from the first file of the page."""
    console, seen, waiting = running(), set[str](), {"/main.js"}
    while waiting - seen:
        path = (waiting - seen).pop()
        seen.add(path)
        status, headers, content = console.ask(path)
        assert (path, status, headers["content-type"]) == (path, 200, "text/javascript; charset=utf-8")
        waiting |= {normpath(join(dirname(path), name)) for name in re.findall(r"from '(\.[^']+)'", content.decode())}
    assert len(seen) > 10
