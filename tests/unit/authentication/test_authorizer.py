"""The decision on an event: what counts, for how long, and what happens while the record is away."""

from __future__ import annotations

import pytest

from berth.authentication.authorizer import MAX_AGE_SECONDS, RECHECK_SECONDS, BasicAuthorizer, MutualTLSAuthorizer
from berth.authentication.basic import Passwords
from berth.authentication.outcomes import AuthorizerOutcome, Decision
from tests.builders.authorizer_events import basic, basic_event, certificate_event, with_client_certificate
from tests.fakes.credential_stores import InMemoryAllowList, InMemoryPasswords

NOW = 1_700_000_000.0
OLD, NEW = '{"username": "berth", "password": "old"}', '{"username": "berth", "password": "new"}'
WITH_OLD, WITH_NEW = basic_event(basic("berth", "old")), basic_event(basic("berth", "new"))
CALLER = certificate_event("1f", NOW - 60, NOW + 86400)


class Clock:
    """Wall time, moved by hand."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.parametrize(
    ("identity", "outcome"),
    [
        pytest.param([basic("berth", "old")], AuthorizerOutcome.ALLOWED, id="the header"),
        pytest.param([], AuthorizerOutcome.NO_CREDENTIALS, id="no identity"),
        pytest.param([""], AuthorizerOutcome.NO_CREDENTIALS, id="an empty one"),
        pytest.param([None], AuthorizerOutcome.NO_CREDENTIALS, id="null"),
        pytest.param(
            [basic("berth", "old")] * 2,
            AuthorizerOutcome.UNREADABLE_CREDENTIALS,
            id="two: which is the answer kept for?",
        ),
        pytest.param([{"a": 1}], AuthorizerOutcome.UNREADABLE_CREDENTIALS, id="no text"),
    ],
)
def test_the_identity_source_decides(clock: Clock, identity: list[object], outcome: AuthorizerOutcome) -> None:
    assert BasicAuthorizer(InMemoryPasswords(OLD), clock).decide(basic_event(*identity)).outcome is outcome


def test_a_header_that_is_no_identity_source_plays_no_part(clock: Clock) -> None:
    """The gateway keeps its answer by the identity source; another input would be answered for by mistake."""
    event = basic_event() | {"headers": {"authorization": basic("berth", "old")}}
    decision = BasicAuthorizer(InMemoryPasswords(OLD), clock).decide(event)
    assert decision.outcome is AuthorizerOutcome.NO_CREDENTIALS


def test_an_event_without_identity_or_certificate_is_denied_in_both_modes(clock: Clock) -> None:
    for authorizer in (
        BasicAuthorizer(InMemoryPasswords(OLD), clock),
        MutualTLSAuthorizer(InMemoryAllowList("1f"), clock),
    ):
        assert authorizer.decide({}) == Decision(AuthorizerOutcome.NO_CREDENTIALS)


def test_each_mode_is_deaf_to_the_other_s_credentials(clock: Clock) -> None:
    assert not BasicAuthorizer(InMemoryPasswords(OLD), clock).decide(CALLER).allowed
    assert not MutualTLSAuthorizer(InMemoryAllowList("1f"), clock).decide(WITH_OLD).allowed


def test_the_record_is_read_once_and_not_for_each_call(clock: Clock) -> None:
    record = InMemoryPasswords(OLD)
    authorizer = BasicAuthorizer(record, clock)
    clock.now += 100
    for _ in range(10):
        assert authorizer.decide(WITH_OLD).allowed
        clock.now += MAX_AGE_SECONDS / 20
    assert record.reads == 1


def test_what_is_withdrawn_counts_no_longer_than_the_record_is_remembered(clock: Clock) -> None:
    record = InMemoryPasswords(OLD)
    authorizer = BasicAuthorizer(record, clock)
    assert authorizer.decide(WITH_OLD).allowed
    record.secret = NEW
    clock.now += MAX_AGE_SECONDS - 0.001
    assert authorizer.decide(WITH_OLD).allowed
    clock.now += 0.001
    assert authorizer.decide(WITH_OLD) == Decision(AuthorizerOutcome.WRONG_CREDENTIALS)


def test_what_is_added_counts_at_once(clock: Clock) -> None:
    """A denial would be kept by the gateway: so it is decided on a record that has just been read."""
    record = InMemoryPasswords(OLD)
    authorizer = BasicAuthorizer(record, clock)
    assert authorizer.decide(WITH_OLD).allowed
    record.secret, record.previous, record.previous_until = NEW, OLD, NOW + 100
    clock.now += RECHECK_SECONDS
    assert authorizer.decide(WITH_NEW) == Decision(AuthorizerOutcome.ALLOWED)
    assert authorizer.decide(WITH_OLD) == Decision(AuthorizerOutcome.ALLOWED_PREVIOUS)
    assert record.reads == 2


def test_guessing_does_not_read_the_record_with_each_guess(clock: Clock) -> None:
    record = InMemoryPasswords(OLD)
    authorizer = BasicAuthorizer(record, clock)
    for guess in range(1000):
        assert not authorizer.decide(basic_event(basic("berth", f"{guess}"))).allowed
        clock.now += RECHECK_SECONDS / 100
    assert record.reads <= 11


@pytest.mark.parametrize("known", [pytest.param(True, id="known before"), pytest.param(False, id="never read")])
def test_while_the_record_is_away_nobody_is_allowed_for_longer_than_it_counts(clock: Clock, known: bool) -> None:
    record = InMemoryPasswords(OLD)
    authorizer = BasicAuthorizer(record, clock)
    if known:
        assert authorizer.decide(WITH_OLD).allowed
        clock.now += MAX_AGE_SECONDS
    record.unavailable = True
    assert authorizer.decide(WITH_OLD) == Decision(AuthorizerOutcome.UNAVAILABLE, "the record is away")
    record.unavailable = False
    assert authorizer.decide(WITH_OLD).allowed


def test_a_clock_that_was_set_back_makes_the_record_old(clock: Clock) -> None:
    record = InMemoryPasswords(OLD)
    authorizer = BasicAuthorizer(record, clock)
    authorizer.decide(WITH_OLD)
    clock.now -= 3600
    record.secret = NEW
    assert not authorizer.decide(WITH_OLD).allowed


def test_a_revoked_certificate_is_refused_though_the_gateway_lets_it_through(clock: Clock) -> None:
    record = InMemoryAllowList("1f\n2a\nnonsense")
    authorizer = MutualTLSAuthorizer(record, clock)
    assert authorizer.decide(CALLER).allowed
    record.text = "2a\nnonsense"
    clock.now += MAX_AGE_SECONDS
    assert authorizer.decide(CALLER) == Decision(
        AuthorizerOutcome.NOT_LISTED, "certificate 1f; malformed lines in the allow-list: 1"
    )


def test_while_the_allow_list_is_away_no_certificate_is_allowed(clock: Clock) -> None:
    record = InMemoryAllowList("1f")
    record.unavailable = True
    assert MutualTLSAuthorizer(record, clock).decide(CALLER).outcome is AuthorizerOutcome.UNAVAILABLE


def test_without_a_certificate_the_allow_list_is_not_even_read(clock: Clock) -> None:
    record = InMemoryAllowList("1f")
    assert MutualTLSAuthorizer(record, clock).decide(with_client_certificate(None)).outcome is (
        AuthorizerOutcome.NO_CREDENTIALS
    )
    assert record.reads == 0


def test_a_warm_up_reads_the_record_for_the_request_to_come(clock: Clock) -> None:
    passwords, allow_list = InMemoryPasswords(OLD), InMemoryAllowList("1f")
    for authorizer, event in (
        (BasicAuthorizer(passwords, clock), WITH_OLD),
        (MutualTLSAuthorizer(allow_list, clock), CALLER),
    ):
        authorizer.preload()
        assert authorizer.decide(event).allowed
    assert (passwords.reads, allow_list.reads) == (1, 1)


def test_a_record_is_as_old_as_the_question_for_it(clock: Clock) -> None:
    """What was withdrawn while the answer was on its way is withdrawn."""

    class Slow(InMemoryPasswords):
        def read(self) -> Passwords:
            found = super().read()
            clock.now += 10
            return found

    record = Slow(OLD)
    authorizer = BasicAuthorizer(record, clock)
    assert authorizer.decide(WITH_OLD).allowed
    record.secret = NEW
    clock.now = NOW + MAX_AGE_SECONDS
    assert not authorizer.decide(WITH_OLD).allowed
