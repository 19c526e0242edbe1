"""What keeps every call out is told once, by the check whose matter it is."""

from __future__ import annotations

import pytest

from berth_cli.doctor.access.endpoint import Answered, Distrust, ServerCertificate, Unanswered
from berth_cli.doctor.checks.authentication import Barred, WayIn, barred
from berth_cli.doctor.checks.verbs import ALL
from berth_cli.doctor.findings import CheckName, Result, ok
from tests.fakes.doctor import NOW, FakeEndpoint, answered
from tests.unit.cli.doctor.reading import expect

DISTRUSTED = ServerCertificate(NOW, Distrust.UNKNOWN_AUTHORITY)
BROKEN_OFF = Unanswered("TLS: unknown ca", broken_off=True)
SILENT = Unanswered("no answer in time")


@pytest.mark.parametrize(
    ("answer", "endpoint", "by_certificate", "by"),
    [
        pytest.param(answered({}, 500), FakeEndpoint(), False, None, id="an answer of any kind but those is a way in"),
        pytest.param(answered({}, 404), FakeEndpoint(), False, None, id="a wrong name, too"),
        pytest.param(answered({}, 401), FakeEndpoint(), False, "credentials", id="no password, or a wrong one"),
        pytest.param(answered({}, 403), FakeEndpoint(), True, "client-certificate", id="a certificate not on the list"),
        pytest.param(BROKEN_OFF, FakeEndpoint(), True, "client-certificate", id="a certificate of a stranger"),
        pytest.param(BROKEN_OFF, FakeEndpoint(shown=DISTRUSTED), True, "server-certificate", id="a server not trusted"),
        pytest.param(BROKEN_OFF, FakeEndpoint(shown=SILENT), True, "server-certificate", id="a server without any"),
        pytest.param(BROKEN_OFF, FakeEndpoint(shown=None), False, "verbs", id="broken off without encryption"),
        pytest.param(SILENT, FakeEndpoint(), False, "verbs", id="nobody there"),
    ],
)
def test_who_tells(answer: Answered | Unanswered, endpoint: FakeEndpoint, by_certificate: bool, by: str | None) -> None:
    endpoint.verbs = {"filter": answer}
    found = barred(endpoint, ALL, by_certificate=by_certificate)
    assert (found and found.by) == by


def test_it_is_looked_for_once_and_the_checks_behind_it_say_where_to_look() -> None:
    looks: list[None] = []

    def look() -> Barred:
        looks.append(None)
        return Barred(CheckName.SERVER_CERTIFICATE, "not trusted")

    way_in = WayIn(look)
    fine = [ok(CheckName.CACHE, "fine")]
    expect(way_in.past(CheckName.CACHE, lambda: fine), "cache", Result.SKIPPED, "see the check server-certificate")
    expect(way_in.verbs(FakeEndpoint(), lambda: fine), "verbs", Result.SKIPPED, "see the check server-certificate")
    assert len(looks) == 1


def test_where_there_is_a_way_the_checks_are_made() -> None:
    fine = [ok(CheckName.CACHE, "fine")]
    assert WayIn(lambda: None).past(CheckName.CACHE, lambda: fine) == fine


@pytest.mark.parametrize("by", ["verbs", "credentials"])
def test_what_no_other_check_tells_is_told_by_the_verbs(by: str) -> None:
    way_in = WayIn(lambda: Barred(CheckName(by), "filter: why"))
    expect(way_in.verbs(FakeEndpoint(), list), by, Result.FAILED, "filter: why")
