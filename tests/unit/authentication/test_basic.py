"""Checks of Basic credentials against the stored passwords."""

from __future__ import annotations

import base64
import hmac

import pytest

from berth.authentication import basic
from berth.authentication.basic import InvalidSecret, Passwords, check, credentials_digest
from berth.authentication.outcomes import AuthorizerOutcome
from tests.builders.authorizer_events import basic as header

NOW = 1_700_000_000.0
CURRENT = credentials_digest('{"username": "berth", "password": "new"}')
PREVIOUS = credentials_digest('{"username": "berth", "password": "old"}')
ONE = Passwords(CURRENT)
TWO = Passwords(CURRENT, PREVIOUS, NOW + 1)


def encoded(credentials: bytes) -> str:
    return base64.b64encode(credentials).decode()


@pytest.mark.parametrize(
    ("value", "passwords", "outcome"),
    [
        pytest.param(header("berth", "new"), ONE, AuthorizerOutcome.ALLOWED, id="the current password"),
        pytest.param(header("berth", "new"), TWO, AuthorizerOutcome.ALLOWED, id="current password during rotation"),
        pytest.param(header("berth", "old"), TWO, AuthorizerOutcome.ALLOWED_PREVIOUS, id="previous during rotation"),
        pytest.param(
            header("berth", "old"),
            Passwords(CURRENT, PREVIOUS, NOW),
            AuthorizerOutcome.WRONG_CREDENTIALS,
            id="previous password after rotation",
        ),
        pytest.param(header("berth", "old"), ONE, AuthorizerOutcome.WRONG_CREDENTIALS, id="another password"),
        pytest.param(header("root", "new"), ONE, AuthorizerOutcome.WRONG_CREDENTIALS, id="another user"),
        pytest.param(header("berth", ""), ONE, AuthorizerOutcome.WRONG_CREDENTIALS, id="no password"),
        pytest.param(header("", ""), ONE, AuthorizerOutcome.WRONG_CREDENTIALS, id="no user and no password"),
        pytest.param(header("berth", "new\0"), ONE, AuthorizerOutcome.WRONG_CREDENTIALS, id="password followed by NUL"),
        pytest.param(header("berth", "new:x"), ONE, AuthorizerOutcome.WRONG_CREDENTIALS, id="a colon in the password"),
        pytest.param(header("berth", "nëw"), ONE, AuthorizerOutcome.WRONG_CREDENTIALS, id="non-ASCII letters"),
        pytest.param(
            f"Basic {encoded(bytes([0xFF, 0x3A, 0xFE]))}",
            ONE,
            AuthorizerOutcome.WRONG_CREDENTIALS,
            id="bytes that are not text",
        ),
        pytest.param(
            header("berth", "new").lower(), ONE, AuthorizerOutcome.WRONG_CREDENTIALS, id="base64 in another case"
        ),
        pytest.param(header("berth", "new").replace("Basic", "bAsIc"), ONE, AuthorizerOutcome.ALLOWED, id="any scheme"),
        pytest.param(
            header("berth", "new").replace(" ", "   "),
            ONE,
            AuthorizerOutcome.ALLOWED,
            id="more blanks (RFC 9110, 11.4)",
        ),
        pytest.param("", ONE, AuthorizerOutcome.UNREADABLE_CREDENTIALS, id="an empty header"),
        pytest.param("Basic", ONE, AuthorizerOutcome.UNREADABLE_CREDENTIALS, id="only a scheme"),
        pytest.param("Bearer new", ONE, AuthorizerOutcome.UNREADABLE_CREDENTIALS, id="another scheme"),
        pytest.param(encoded(b"berth:new"), ONE, AuthorizerOutcome.UNREADABLE_CREDENTIALS, id="no scheme"),
        pytest.param("Basic berth:new", ONE, AuthorizerOutcome.UNREADABLE_CREDENTIALS, id="not base64"),
        pytest.param("Basic YmVydGg6bmV3", ONE, AuthorizerOutcome.ALLOWED, id="valid base64"),
        pytest.param("Basic YmVydGg6bmV", ONE, AuthorizerOutcome.UNREADABLE_CREDENTIALS, id="truncated base64"),
        pytest.param("Basic ÿÿÿÿ", ONE, AuthorizerOutcome.UNREADABLE_CREDENTIALS, id="not ASCII"),
        pytest.param("Basic YmVy\0dGg6bmV3", ONE, AuthorizerOutcome.UNREADABLE_CREDENTIALS, id="contains NUL"),
        pytest.param("Basic YmVy\ndGg6bmV3", ONE, AuthorizerOutcome.UNREADABLE_CREDENTIALS, id="contains a line break"),
        pytest.param(f"Basic {encoded(b'berth')}", ONE, AuthorizerOutcome.UNREADABLE_CREDENTIALS, id="no colon"),
        pytest.param(
            f"{header('berth', 'new')},{header('berth', 'new')}",
            ONE,
            AuthorizerOutcome.UNREADABLE_CREDENTIALS,
            id="several headers joined by the gateway",
        ),
        pytest.param(
            header("berth", "x" * 756).replace(" ", " " * 3), ONE, AuthorizerOutcome.WRONG_CREDENTIALS, id="1,024 bytes"
        ),
        pytest.param(
            header("berth", "x" * 756).replace(" ", " " * 4),
            ONE,
            AuthorizerOutcome.UNREADABLE_CREDENTIALS,
            id="1,025 bytes",
        ),
        pytest.param(header("berth", "x" * 100_000), ONE, AuthorizerOutcome.UNREADABLE_CREDENTIALS, id="100 kB header"),
        pytest.param(header("berth", "new" + " " * 2_000), ONE, AuthorizerOutcome.UNREADABLE_CREDENTIALS, id="2 kB"),
    ],
)
def test_accepts_or_rejects_authorization_header(value: str, passwords: Passwords, outcome: AuthorizerOutcome) -> None:
    assert check(value, passwords, NOW) is outcome


def test_rejects_empty_credentials_if_there_is_no_previous_password() -> None:
    """Without a previous password, random bytes take its place."""
    assert check(header("", ""), Passwords(CURRENT, None, NOW + 1), NOW) is AuthorizerOutcome.WRONG_CREDENTIALS


@pytest.mark.parametrize("password", ["new", "old", "", "x", "x" * 500])
def test_compares_only_digests_of_equal_length(password: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The duration must not reveal a part of the password, its length, or which password matched."""
    compared: list[tuple[int, int]] = []

    def recording(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return hmac.compare_digest(one, other)

    class Recording:
        compare_digest = staticmethod(recording)

    monkeypatch.setattr(basic, "hmac", Recording)
    check(header("berth", password), TWO, NOW)
    assert compared == [(32, 32), (32, 32)]


@pytest.mark.parametrize(
    "secret",
    [
        pytest.param("", id="empty"),
        pytest.param("hunter2", id="not JSON"),
        pytest.param('["berth", "hunter2"]', id="not an object"),
        pytest.param('{"username": "berth"}', id="no password"),
        pytest.param('{"username": "berth", "password": ""}', id="an empty password"),
        pytest.param('{"username": "berth", "password": 12}', id="a password that is a number"),
        pytest.param('{"password": "hunter2"}', id="no username"),
        pytest.param('{"username": "", "password": "hunter2"}', id="an empty username"),
        pytest.param('{"username": "a:b", "password": "hunter2"}', id="a colon in the username"),
    ],
)
def test_raises_invalid_secret_without_quoting_it(secret: str) -> None:
    with pytest.raises(InvalidSecret) as refused:
        credentials_digest(secret)
    assert "hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None
