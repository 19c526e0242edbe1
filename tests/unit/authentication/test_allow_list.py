"""Parsing of the allow-list and of client certificates, and the check of a certificate against the list."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.authentication.allow_list import (
    MIN_SERIAL,
    AllowList,
    AllowListEntry,
    ClientCertificate,
    check,
    format_entries,
    parse,
    read,
)
from berth.authentication.outcomes import AuthorizerOutcome
from tests.builders.authorizer_events import certificate_event, with_client_certificate

SERIAL, OTHER = 0x5EED5EED5EED5E1F, 0x5EED5EED5EED5E2A
A, B = f"{SERIAL:x}", f"{OTHER:x}"
NOON = 1_764_590_400.0  # 2025-12-01T12:00:00Z


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("", AllowList(), id="an empty text allows no certificate"),
        pytest.param("# Nobody may call yet\n\n", AllowList(), id="comments and empty lines"),
        pytest.param(A, AllowList({SERIAL: None}), id="a serial"),
        pytest.param("00:5E:ED:5E:ED:5E:ED:5E:1F", AllowList({SERIAL: None}), id="in the format of openssl"),
        pytest.param(f"  {A}  # scheduler", AllowList({SERIAL: None}), id="with a comment"),
        pytest.param("5eed5eed5eed5e1f\r\n5eed5eed5eed5e2a\r\n", AllowList({SERIAL: None, OTHER: None}), id="CR LF"),
        pytest.param(f"{A} until 2025-12-01T12:00:00Z", AllowList({SERIAL: NOON}), id="until a time"),
        pytest.param("5eed5eed5eed5e1f until 2025-12-01T13:00:00+01:00", AllowList({SERIAL: NOON}), id="another zone"),
        pytest.param(
            "5eed5eed5eed5e1f until 2025-12-01T12:00:00Z\n5eed5eed5eed5e1f",
            AllowList({SERIAL: None}),
            id="the later line counts",
        ),
        pytest.param(
            f"{A} replaced 2025-12-01T12:00:00Z",
            AllowList({SERIAL: NOON}, replaced=frozenset({SERIAL})),
            id="until the end of a rotation's overlap",
        ),
        pytest.param(f"{A} until 2025-12-01T12:00:00", AllowList(malformed=1), id="a time without a zone"),
        pytest.param(f"{A} until tomorrow", AllowList(malformed=1), id="not a time"),
        pytest.param(f"{A} until", AllowList(malformed=1), id="missing time"),
        pytest.param(
            "scheduler\n5eed5eed5eed5e1f", AllowList({SERIAL: None}, malformed=1), id="an invalid serial is skipped"
        ),
        pytest.param(f"0x{A}\n*\n:\n-1", AllowList(malformed=4), id="wildcards are not allowed"),
        pytest.param(f"{A} {B}", AllowList(malformed=1), id="two serials on one line"),
        pytest.param(f"1f\n{A}", AllowList({SERIAL: None}, malformed=1), id="a serial of 1 byte"),
        pytest.param("ff:ff:ff:ff:ff:ff:ff", AllowList(malformed=1), id="a serial of 7 bytes"),
        pytest.param("00000000000000000000001f", AllowList(malformed=1), id="a serial of 1 byte with leading zeros"),
        pytest.param("01:00:00:00:00:00:00:00", AllowList({2**56: None}), id="a serial of 8 bytes"),
    ],
)
def test_parses_serials_ends_and_replacements_of_an_allow_list(text: str, wanted: AllowList) -> None:
    assert parse(text) == wanted


@pytest.mark.parametrize(
    ("serials", "now", "listing"),
    [
        pytest.param({1}, NOON, AuthorizerOutcome.ALLOWED, id="without an end"),
        pytest.param({2}, NOON - 1, AuthorizerOutcome.ALLOWED, id="before its end"),
        pytest.param({2}, NOON, AuthorizerOutcome.EXPIRED, id="at its end"),
        pytest.param({3}, NOON, AuthorizerOutcome.NOT_LISTED, id="not on the list"),
        pytest.param({3, 1}, NOON, AuthorizerOutcome.ALLOWED, id="ambiguous serial with one form on the list"),
        pytest.param({2, 1}, NOON, AuthorizerOutcome.ALLOWED, id="ambiguous serial with one form expired"),
        pytest.param(set(), NOON, AuthorizerOutcome.NOT_LISTED, id="no serial"),
    ],
)
def test_serial_is_allowed_only_until_its_end(serials: set[int], now: float, listing: AuthorizerOutcome) -> None:
    assert AllowList({1: None, 2: NOON}).status(serials, now) is listing


@pytest.mark.parametrize(
    ("text", "end"),
    [
        pytest.param("", None, id="empty list"),
        pytest.param(A, None, id="line without an end"),
        pytest.param(f"{A} until 2025-12-02T12:00:00Z\n{B} until 2025-12-01T12:00:00Z", NOON, id="first of two"),
        pytest.param(f"{A} replaced 2025-11-01T12:00:00Z\n{B} until 2025-12-01T12:00:00Z", NOON, id="after a rotation"),
        pytest.param(f"{A} replaced 2025-12-01T12:00:00Z", None, id="replaced certificate only"),
    ],
)
def test_first_end_ignores_replaced_certificates(text: str, end: float | None) -> None:
    assert parse(text).first_end() == end


entries = st.builds(
    AllowListEntry,
    st.integers(MIN_SERIAL, 2**160),
    st.none() | st.integers(0, 2**32).map(float),
    st.text("abz059-", max_size=12),
    st.booleans(),
)


@given(st.lists(entries, max_size=5, unique_by=lambda entry: entry.serial))
def test_formatted_list_is_parsed_to_the_same_entries(written: list[AllowListEntry]) -> None:
    replaced = frozenset(entry.serial for entry in written if entry.is_replaced and entry.until is not None)
    assert parse(format_entries(written)) == AllowList(
        {entry.serial: entry.until for entry in written}, replaced=replaced
    )


@given(st.text(max_size=200))
def test_rejects_serial_that_is_not_on_the_allow_list(text: str) -> None:
    parse(text)
    assert parse(text).status([2**200], 0.0) is AuthorizerOutcome.NOT_LISTED


NOW = 1_700_000_000.0
VALIDITY = {"notBefore": "May 28 12:30:02 2019 GMT", "notAfter": "Aug  5 09:36:04 2021 GMT"}
NONE, UNREADABLE = AuthorizerOutcome.NO_CREDENTIALS, AuthorizerOutcome.UNREADABLE_CREDENTIALS


@pytest.mark.parametrize(
    ("serial", "numbers"),
    [
        pytest.param("a1:b2:c3", {0xA1B2C3}, id="hexadecimal with colons"),
        pytest.param("A1B2C3", {0xA1B2C3}, id="hexadecimal without colons"),
        pytest.param("00:0a", {0x0A}, id="with a zero in front"),
        pytest.param("15126475914434474424", {15126475914434474424, 0x15126475914434474424}, id="digits: either base"),
        pytest.param("10:20", {0x1020}, id="digits with colons are hexadecimal"),
    ],
)
def test_parses_serial_in_hexadecimal_and_decimal(serial: str, numbers: set[int]) -> None:
    found = read(with_client_certificate({"serialNumber": serial, "validity": VALIDITY}))
    assert found == ClientCertificate(frozenset(numbers), 1559046602.0, 1628156164.0)


@pytest.mark.parametrize(
    ("event", "outcome"),
    [
        pytest.param({}, NONE, id="an empty event"),
        pytest.param({"requestContext": None}, NONE, id="no context"),
        pytest.param({"requestContext": {"authentication": None}}, NONE, id="no authentication"),
        pytest.param({"requestContext": {"authentication": "x"}}, NONE, id="authentication is a string"),
        pytest.param(with_client_certificate(None), NONE, id="no certificate"),
        pytest.param(with_client_certificate({}), NONE, id="an empty certificate"),
        pytest.param({"requestContext": {"authentication": {"clientCert": "x"}}}, NONE, id="certificate is a string"),
        pytest.param({"requestContext": {"authentication": {"clientCert": ["x"]}}}, NONE, id="a list of certificates"),
        pytest.param(with_client_certificate({"validity": VALIDITY}), UNREADABLE, id="no serial"),
        pytest.param(certificate_event("", 0, NOW), UNREADABLE, id="an empty serial"),
        pytest.param(certificate_event(":", 0, NOW), UNREADABLE, id="a serial of colons"),
        pytest.param(certificate_event(7, 0, NOW), UNREADABLE, id="a serial that is a number"),
        pytest.param(certificate_event("0x1f", 0, NOW), UNREADABLE, id="a serial of other letters"),
        pytest.param(certificate_event("1f\n", 0, NOW), UNREADABLE, id="a serial with a line break"),
        pytest.param(certificate_event("١٢", 0, NOW), UNREADABLE, id="digits of other scripts"),
        pytest.param(certificate_event("f" * 100_000, 0, NOW), UNREADABLE, id="a serial of 100 kB"),
        pytest.param(with_client_certificate({"serialNumber": "1f"}), UNREADABLE, id="no validity"),
        pytest.param(
            with_client_certificate({"serialNumber": "1f", "validity": {"notBefore": "now", "notAfter": "later"}}),
            UNREADABLE,
            id="invalid times",
        ),
        pytest.param(
            with_client_certificate({"serialNumber": "1f", "validity": {"notBefore": VALIDITY["notBefore"]}}),
            UNREADABLE,
            id="missing end time",
        ),
    ],
)
def test_rejects_malformed_certificate(event: Mapping[str, object], outcome: AuthorizerOutcome) -> None:
    assert read(event) is outcome


@pytest.mark.parametrize(
    ("not_before", "not_after", "allowed", "outcome"),
    [
        pytest.param(NOW, NOW + 1, {0x1F: None}, AuthorizerOutcome.ALLOWED, id="valid and on the list"),
        pytest.param(NOW, NOW + 1, {0x2A: None}, AuthorizerOutcome.NOT_LISTED, id="valid but not on the list"),
        pytest.param(NOW - 9, NOW, {0x1F: None}, AuthorizerOutcome.EXPIRED, id="expired on a long-lived connection"),
        pytest.param(NOW + 1, NOW + 9, {0x1F: None}, AuthorizerOutcome.EXPIRED, id="not valid yet"),
        pytest.param(NOW, NOW + 1, {0x1F: NOW}, AuthorizerOutcome.EXPIRED, id="its list entry has expired"),
    ],
)
def test_certificate_must_be_valid_and_on_the_allow_list(
    not_before: float, not_after: float, allowed: dict[int, float | None], outcome: AuthorizerOutcome
) -> None:
    certificate = ClientCertificate(frozenset({0x1F}), not_before, not_after)
    assert check(certificate, AllowList(allowed), NOW) is outcome
