"""The client certificate as the gateway describes it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from berth.authentication.allow_list import AllowList, ClientCertificate, check, read
from berth.authentication.outcomes import AuthorizerOutcome
from tests.builders.authorizer_events import certificate_event, with_client_certificate

NOW = 1_700_000_000.0
VALIDITY = {"notBefore": "May 28 12:30:02 2019 GMT", "notAfter": "Aug  5 09:36:04 2021 GMT"}
NONE, UNREADABLE = AuthorizerOutcome.NO_CREDENTIALS, AuthorizerOutcome.UNREADABLE_CREDENTIALS


@pytest.mark.parametrize(
    ("serial", "numbers"),
    [
        pytest.param("a1:b2:c3", {0xA1B2C3}, id="hexadecimal with colons"),
        pytest.param("A1B2C3", {0xA1B2C3}, id="hexadecimal without colons"),
        pytest.param("00:0a", {0x0A}, id="with a zero in front"),
        pytest.param(
            "15126475914434474424", {15126475914434474424, 0x15126475914434474424}, id="only digits may be either base"
        ),
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
def test_checks_validity_and_allow_list(
    not_before: float, not_after: float, allowed: dict[int, float | None], outcome: AuthorizerOutcome
) -> None:
    certificate = ClientCertificate(frozenset({0x1F}), not_before, not_after)
    assert check(certificate, AllowList(allowed), NOW) is outcome
