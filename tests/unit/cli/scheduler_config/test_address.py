"""urlPrefix with and without credentials, and the notes on options."""

from __future__ import annotations

from typing import Any

import pytest

from berth_cli.scheduler_config.address import BasicCredentials, InvalidAddress, url_prefix
from berth_cli.scheduler_config.extenders import ExtenderOptions, Mode, Verb
from berth_cli.scheduler_config.managed_resources import ManagedResources
from berth_cli.scheduler_config.notes import option_notes

URL = "https://berth.example.com/scheduler"


@pytest.mark.parametrize(
    ("url", "basic", "wanted"),
    [
        pytest.param(URL, None, URL, id="as it is"),
        pytest.param(f"{URL}/", None, URL, id="without the last slash"),
        pytest.param(
            URL, BasicCredentials("me"), "https://me:BERTH_PASSWORD@berth.example.com/scheduler", id="a placeholder"
        ),
        pytest.param(
            URL,
            BasicCredentials("a@b", "p:/?#[]@ é%"),
            "https://a%40b:p%3A%2F%3F%23%5B%5D%40%20%C3%A9%25@berth.example.com/scheduler",
            id="percent-encoded",
        ),
        pytest.param(
            "http://[::1]:8080/scheduler", BasicCredentials("u", "p"), "http://u:p@[::1]:8080/scheduler", id="IPv6"
        ),
    ],
)
def test_builds_url_prefix(url: str, basic: BasicCredentials | None, wanted: str) -> None:
    assert url_prefix(url, basic) == wanted


@pytest.mark.parametrize(
    "url",
    [
        "berth.example.com/scheduler",
        "ftp://berth/scheduler",
        "https:///scheduler",
        "https://berth:99999/scheduler",
        "https://berth/scheduler?a=b",
        "https://berth/scheduler#a",
        "https://user:secret@berth/scheduler",
    ],
)
def test_invalid_address_error_does_not_quote_password(url: str) -> None:
    with pytest.raises(InvalidAddress) as caught:
        url_prefix(url, None)
    assert "secret" not in str(caught.value)


def test_repr_omits_password() -> None:
    assert "hidden" not in repr(BasicCredentials("me", "hidden"))


RULES_ABOUT_PODS = ManagedResources(rules_about_pods=True)


def said(*, with_password: bool = False, bounded_retries: bool = False, second: bool = False, **choices: Any) -> str:
    found = option_notes(
        ExtenderOptions(**{"url_prefix": URL} | choices),
        with_password=with_password,
        bounded_retries=bounded_retries,
        second=second,
    )
    return "\n".join(found)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        pytest.param({"url_prefix": "http://berth/scheduler"}, "plain http", id="readable on the way"),
        pytest.param({"url_prefix": "http://127.0.0.1/scheduler", "tls": {}}, "certificates are not used", id="unused"),
        pytest.param({"url_prefix": "https://berth"}, "does not end in /scheduler", id="fact 35"),
        pytest.param({"with_password": True}, "fact 37", id="basic credentials"),
        pytest.param({"mode": Mode.FULL}, "fact 13", id="full mode"),
        pytest.param({"http_timeout": "45s"}, "API Gateway ends requests", id="longer than the gateway"),
        pytest.param({"http_timeout": "1500ms"}, "bind needs at least 2 s", id="fact 23"),
        pytest.param({"ignorable": True, "verbs": frozenset({Verb.FILTER})}, "fact 39", id="ignorable"),
        pytest.param(
            {"managed": RULES_ABOUT_PODS, "verbs": frozenset({Verb.FILTER})}, "are best effort", id="rules without bind"
        ),
        pytest.param({"bounded_retries": True}, "fact 44", id="the price of bounded retries"),
        pytest.param({"url_prefix": "http://[::1]/scheduler", "second": True}, "is loopback", id="a pod has its own"),
    ],
)
def test_prints_note(choices: dict[str, Any], message: str) -> None:
    assert message in said(**choices)


@pytest.mark.parametrize(
    "choices",
    [
        pytest.param({}, id="the defaults"),
        pytest.param({"url_prefix": "http://127.0.0.1:8080/scheduler"}, id="plain http on this machine"),
        pytest.param({"managed": RULES_ABOUT_PODS}, id="rules about pods that Berth binds"),
        pytest.param({"http_timeout": "1s", "verbs": frozenset({Verb.FILTER})}, id="a short time without bind"),
    ],
)
def test_prints_no_note_for_sound_options(choices: dict[str, Any]) -> None:
    assert said(**choices) == ""
