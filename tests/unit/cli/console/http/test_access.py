"""Who may ask the console, and what the answers let a page do."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from berth_cli.console.cluster.source import ClusterNotObserved
from berth_cli.console.http.access import MOST_SESSIONS
from berth_cli.console.http.application import MOST_QUERY, MOST_STREAMS
from berth_cli.console.http.known_browsers import KnownBrowsers
from tests.unit.cli.console.browser_keys import Browser
from tests.unit.cli.console.cases import ORIGIN, Running, node, pod, running, snapshot

DATA = "/api/nodes"


@pytest.mark.parametrize("path", ["/api/nodes", "/api/pods", "/api/changes"])
@pytest.mark.parametrize(
    "credential",
    [
        pytest.param(None, id="without a session"),
        pytest.param("Bearer guessed", id="with another key"),
        pytest.param("Bearer ", id="with an empty key"),
        pytest.param("Bearer secret-0", id="with the token itself"),
        pytest.param("Basic secret-1", id="with another scheme"),
        pytest.param("Bearer \xff", id="with bytes that are no key"),
    ],
)
def test_data_needs_a_session(path: str, credential: str | None) -> None:
    status, _, body = running().ask(path, query="since=1", authorization=credential)
    assert status == 401
    assert b"n1" not in body


def test_token_gives_one_session_and_the_next_token_is_given_out() -> None:
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


PATHS_OF_SESSIONS = ("/session", "/session/challenge", "/session/return")


def challenge(console: Running) -> str:
    """For a browser that wants to come back."""
    _, _, body = console.ask("/session/challenge", "POST", origin=ORIGIN)
    found: str = orjson.loads(body)["challenge"]
    return found


def returned(console: Running, proof: str, origin: str | None = ORIGIN) -> tuple[int, Any]:
    """The answer to a proof."""
    status, _, body = console.ask("/session/return", "POST", origin=origin, authorization=proof)
    return status, orjson.loads(body)


@pytest.fixture
def browser() -> Browser:
    return Browser()


@pytest.fixture
def restarted(browser: Browser) -> Running:
    """A console that knows the browser from a process that has ended."""
    browsers = KnownBrowsers(None, lambda: 0.0)
    before = running(browsers=browsers)
    headers = {"origin": ORIGIN, "authorization": f"Bearer {before.tokens[-1]}", "berth_browser_key": browser.key}
    assert before.ask("/session", "POST", **headers)[0] == 200
    return running(browsers=browsers)


def test_known_browser_gets_a_session_for_its_proof(restarted: Running, browser: Browser) -> None:
    status, content = returned(restarted, browser.proof(ORIGIN, challenge(restarted)))
    assert status == 200
    assert restarted.ask(DATA, authorization=f"Bearer {content['session']}")[0] == 200


def test_key_of_an_earlier_process_opens_nothing() -> None:
    browsers = KnownBrowsers(None, lambda: 0.0)
    key = running(browsers=browsers).session()
    assert running(browsers=browsers).ask(DATA, authorization=f"Bearer {key}")[0] == 401


def test_challenge_is_used_once(restarted: Running, browser: Browser) -> None:
    proof = browser.proof(ORIGIN, challenge(restarted))
    assert returned(restarted, proof)[0] == 200
    assert returned(restarted, proof)[0] == 409
    challenge(restarted)
    assert returned(restarted, proof)[0] == 409


def test_who_asks_again_and_again_takes_no_challenge_from_others(restarted: Running, browser: Browser) -> None:
    proof = browser.proof(ORIGIN, challenge(restarted))
    for _ in range(100):
        challenge(restarted)
    assert returned(restarted, proof)[0] == 200


@pytest.mark.parametrize(
    ("proof", "wanted"),
    [
        pytest.param(lambda browser, given: browser.proof("http://127.0.0.1:8091", given), 401, id="other port"),
        pytest.param(lambda browser, given: browser.proof(ORIGIN, f"{given}x"), 409, id="a challenge of its own"),
        pytest.param(lambda browser, given: browser.proof(ORIGIN, ""), 409, id="no challenge"),
        pytest.param(lambda _, given: Browser().proof(ORIGIN, given), 401, id="a browser that is not known"),
        pytest.param(lambda browser, given: f"Proof {browser.key}.{given}.", 401, id="no signature"),
        pytest.param(
            lambda browser, given: f"Proof {browser.key}.{given}.{Browser().sign(ORIGIN, given)}",
            401,
            id="the signature of another browser",
        ),
        pytest.param(lambda browser, given: browser.proof(ORIGIN, given)[6:], 409, id="without the scheme"),
        pytest.param(lambda browser, given: f"{browser.proof(ORIGIN, given)}.x", 409, id="too many parts"),
        pytest.param(lambda *_: "Bearer secret-0", 409, id="a token"),
        pytest.param(lambda *_: None, 409, id="nothing"),
    ],
)
def test_wrong_proof_opens_nothing(
    restarted: Running, browser: Browser, proof: Callable[[Browser, str], str], wanted: int
) -> None:
    status, content = returned(restarted, proof(browser, challenge(restarted)))
    assert (status, list(content)) == (wanted, ["reason"])


def test_proof_without_a_challenge_opens_nothing(restarted: Running, browser: Browser) -> None:
    assert returned(restarted, browser.proof(ORIGIN, ""))[0] == 409


@pytest.mark.parametrize("key", ["", "x", "A" * 87, "\xff"])
def test_key_that_is_none_uses_no_token(key: str) -> None:
    console = running()
    headers = {"origin": ORIGIN, "authorization": "Bearer secret-0", "berth_browser_key": key}
    assert console.ask("/session", "POST", **headers)[0] == 400
    assert console.tokens == ["secret-0"]


def test_session_without_a_key_is_not_known_later() -> None:
    browsers = KnownBrowsers(None, lambda: 0.0)
    running(browsers=browsers).session()
    assert returned(running(browsers=browsers), "Proof ..")[0] == 409


def test_secrets_are_in_no_log(restarted: Running, browser: Browser, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        given = challenge(restarted)
        wrong = Browser().proof(ORIGIN, given)
        proof = browser.proof(ORIGIN, given)
        token = restarted.tokens[-1]
        returned(restarted, wrong)
        returned(restarted, proof)
        returned(restarted, proof)
        restarted.ask("/session", "POST", origin=ORIGIN, authorization="Bearer guessed")
        restarted.ask("/session", "POST", origin=ORIGIN, authorization=f"Bearer {token}")
        restarted.ask(DATA, authorization="Bearer guessed")
    assert "POST /session/return: refused-proof" in caplog.text
    assert not [each for each in (given, wrong, proof, token, browser.key, "guessed") if each in caplog.text]


def test_oldest_session_ends_when_there_are_too_many() -> None:
    console = running()
    keys = [console.session() for _ in range(MOST_SESSIONS + 1)]
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
def test_unknown_host_gets_nothing(host: str | None, path: str) -> None:
    console = running()
    status, _, body = console.ask(path, host=host, authorization=f"Bearer {console.session()}")
    assert status == 421
    assert b"<html" not in body


def test_localhost_is_known() -> None:
    assert running().ask("/", host="localhost:8090")[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"origin": "http://evil.example"}, id="Origin of another site"),
        pytest.param({"origin": "http://127.0.0.1:9999"}, id="Origin of another port"),
        pytest.param({"origin": "https://127.0.0.1:8090"}, id="Origin of another scheme"),
        pytest.param({"origin": "null"}, id="Origin of a sandbox"),
        pytest.param({"sec_fetch_site": "cross-site"}, id="a request of another site"),
        pytest.param({"sec_fetch_site": "same-site"}, id="a request of another port"),
    ],
)
def test_other_pages_get_nothing(headers: dict[str, str]) -> None:
    console = running()
    key = console.session()
    assert console.ask(DATA, authorization=f"Bearer {key}", **headers)[0] == 403
    for path in PATHS_OF_SESSIONS:
        assert console.ask(path, "POST", authorization="Bearer secret-1", **{"origin": ORIGIN, **headers})[0] == 403


@pytest.mark.parametrize("path", PATHS_OF_SESSIONS)
def test_session_needs_an_origin(path: str) -> None:
    console = running()
    assert console.ask(path, "POST", authorization="Bearer secret-0")[0] == 403
    assert console.tokens == ["secret-0"]


@pytest.mark.parametrize("path", PATHS_OF_SESSIONS)
def test_unknown_host_gets_no_session(path: str) -> None:
    console = running()
    headers = {"host": "evil.example:8090", "origin": "http://evil.example:8090", "authorization": "Bearer secret-0"}
    assert console.ask(path, "POST", **headers)[0] == 421


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", PATHS_OF_SESSIONS)
def test_session_is_posted_for(method: str, path: str) -> None:
    assert running().ask(path, method, origin=ORIGIN)[0] == 405


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE"])
@pytest.mark.parametrize("path", ["/", DATA, "/api/changes"])
def test_console_only_reads(method: str, path: str) -> None:
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
def test_unknown_paths_are_not_looked_up(path: str) -> None:
    status, _, body = running().ask(path)
    assert (status, orjson.loads(body)) == (404, {"reason": "there is no such path; the page is at /"})


@pytest.mark.parametrize("header", [{"content_length": "1"}, {"transfer_encoding": "chunked"}])
@pytest.mark.parametrize("path", PATHS_OF_SESSIONS)
def test_bodies_are_refused_and_the_connection_is_closed(path: str, header: dict[str, str]) -> None:
    console = running()
    status, headers, _ = console.ask(path, "POST", origin=ORIGIN, authorization="Bearer secret-0", **header)
    assert (status, headers["connection"]) == (413, "close")
    assert console.tokens == ["secret-0"]


@pytest.mark.parametrize(
    "query",
    ["", "since=", "since=-1", "since=x", "since=1&since=2", "since=" + "9" * 16, "x=" + "y" * MOST_QUERY],
)
def test_query_that_is_no_state_is_refused(query: str) -> None:
    console = running()
    assert console.ask("/api/changes", query=query, authorization=f"Bearer {console.session()}")[0] == 400


def test_streams_are_limited() -> None:
    console = running()
    console.application._streams = MOST_STREAMS
    assert console.data("/api/changes", "since=1")[0] == 503


@pytest.mark.parametrize(
    ("path", "method", "headers"),
    [
        pytest.param("/", "GET", {}, id="the page"),
        pytest.param("/main.js", "GET", {}, id="a script"),
        pytest.param(DATA, "GET", {}, id="a refusal"),
        pytest.param("/nothing", "GET", {}, id="an unknown path"),
        pytest.param("/session", "POST", {"origin": ORIGIN, "authorization": "Bearer secret-0"}, id="a session"),
        pytest.param("/session/challenge", "POST", {"origin": ORIGIN}, id="a challenge"),
        pytest.param("/", "GET", {"host": "evil.example"}, id="another host"),
    ],
)
def test_every_answer_limits_what_a_page_may_do(path: str, method: str, headers: dict[str, str]) -> None:
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


def test_page_has_nothing_inline_and_nothing_from_elsewhere() -> None:
    page = running().ask("/")[2].decode()
    assert "<style" not in page
    assert " style=" not in page
    assert "http:" not in page.replace("http://www.w3.org", "")
    assert "https:" not in page
    assert not re.search(r"\son\w+=", page)
    assert page.count("<script") == page.count('<script type="module" src="/main.js"></script>') == 1


def test_names_are_data_and_never_markup() -> None:
    """JSON with its own content type: a browser that opens the address shows text."""
    hostile = '</script><img src=x onerror="alert(1)">'
    console = running()
    seen = snapshot(
        [node("n1", labels={"x": hostile})], [pod("p", "n1", labels={"pod-group.scheduling.sigs.k8s.io": hostile})]
    )
    console.source.shows(seen)
    console.feed.observe(0)
    status, headers, body = console.ask(DATA, authorization=f"Bearer {console.session()}")
    assert (status, headers["content-type"]) == (200, "application/json")
    assert hostile in orjson.loads(body)["nodes"]["strings"]
    assert hostile in console.data("/api/pods")[1]["pods"]["strings"]


def test_says_why_there_is_nothing_yet() -> None:
    console = running(ClusterNotObserved("the cluster is being listed"))
    assert console.data(DATA) == (503, {"reason": "the cluster is being listed"})
