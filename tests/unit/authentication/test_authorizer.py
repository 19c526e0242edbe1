"""Authorizer decisions: which credentials are accepted, for how long, and while the store is unavailable."""

from __future__ import annotations

import pytest

from berth.authentication.authorizer import (
    GRACE_SECONDS,
    MAX_AGE_SECONDS,
    RECHECK_SECONDS,
    RETRY_SECONDS,
    BasicAuthorizer,
    MutualTLSAuthorizer,
)
from berth.authentication.basic import Passwords
from berth.authentication.outcomes import AuthorizerOutcome, Decision
from tests.builders.authorizer_events import basic, basic_event, certificate_event, with_client_certificate
from tests.fakes.credential_stores import InMemoryAllowList, InMemoryPasswords

NOW = 1_700_000_000.0
OLD, NEW = '{"username": "berth", "password": "old"}', '{"username": "berth", "password": "new"}'
WITH_OLD, WITH_NEW = basic_event(basic("berth", "old")), basic_event(basic("berth", "new"))
CALLER = certificate_event("5eed5eed5eed5e1f", NOW - 60, NOW + 86400)


class Clock:
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
        pytest.param([], AuthorizerOutcome.NO_CREDENTIALS, id="missing identity source"),
        pytest.param([""], AuthorizerOutcome.NO_CREDENTIALS, id="empty identity source"),
        pytest.param([None], AuthorizerOutcome.NO_CREDENTIALS, id="null"),
        pytest.param([basic("berth", "old")] * 2, AuthorizerOutcome.UNREADABLE_CREDENTIALS, id="two identity sources"),
        pytest.param([{"a": 1}], AuthorizerOutcome.UNREADABLE_CREDENTIALS, id="not a string"),
    ],
)
def test_allows_or_denies_by_identity_source(clock: Clock, identity: list[object], outcome: AuthorizerOutcome) -> None:
    assert BasicAuthorizer(InMemoryPasswords(OLD), clock).decide(basic_event(*identity)).outcome is outcome


def test_ignores_headers_outside_identity_source(clock: Clock) -> None:
    """The gateway caches by the identity source: a decision based on another header would be reused wrongly."""
    event = basic_event() | {"headers": {"authorization": basic("berth", "old")}}
    decision = BasicAuthorizer(InMemoryPasswords(OLD), clock).decide(event)
    assert decision.outcome is AuthorizerOutcome.NO_CREDENTIALS


def test_denies_missing_credentials_in_both_modes(clock: Clock) -> None:
    for authorizer in (
        BasicAuthorizer(InMemoryPasswords(OLD), clock),
        MutualTLSAuthorizer(InMemoryAllowList("5eed5eed5eed5e1f"), clock),
    ):
        assert authorizer.decide({}) == Decision(AuthorizerOutcome.NO_CREDENTIALS)


def test_denies_credentials_of_the_other_mode(clock: Clock) -> None:
    assert not BasicAuthorizer(InMemoryPasswords(OLD), clock).decide(CALLER).allowed
    assert not MutualTLSAuthorizer(InMemoryAllowList("5eed5eed5eed5e1f"), clock).decide(WITH_OLD).allowed


def test_reads_the_store_once_for_several_calls(clock: Clock) -> None:
    store = InMemoryPasswords(OLD)
    authorizer = BasicAuthorizer(store, clock)
    clock.now += 100
    for _ in range(10):
        assert authorizer.decide(WITH_OLD).allowed
        clock.now += MAX_AGE_SECONDS / 20
    assert store.reads == 1


def test_denies_removed_password_after_max_age(clock: Clock) -> None:
    store = InMemoryPasswords(OLD)
    authorizer = BasicAuthorizer(store, clock)
    assert authorizer.decide(WITH_OLD).allowed
    store.secret = NEW
    clock.now += MAX_AGE_SECONDS - 0.001
    assert authorizer.decide(WITH_OLD).allowed
    clock.now += 0.001
    assert authorizer.decide(WITH_OLD) == Decision(AuthorizerOutcome.WRONG_CREDENTIALS)


def test_accepts_a_new_password_after_the_recheck(clock: Clock) -> None:
    """The gateway caches a denial, so a denial must be based on a recent read of the store."""
    store = InMemoryPasswords(OLD)
    authorizer = BasicAuthorizer(store, clock)
    assert authorizer.decide(WITH_OLD).allowed
    store.secret, store.previous, store.previous_until = NEW, OLD, NOW + 100
    clock.now += RECHECK_SECONDS
    assert authorizer.decide(WITH_NEW) == Decision(AuthorizerOutcome.ALLOWED)
    assert authorizer.decide(WITH_OLD) == Decision(AuthorizerOutcome.ALLOWED_PREVIOUS)
    assert store.reads == 2


def test_reads_store_at_most_once_per_recheck_interval_while_denying(clock: Clock) -> None:
    store = InMemoryPasswords(OLD)
    authorizer = BasicAuthorizer(store, clock)
    for guess in range(1000):
        assert not authorizer.decide(basic_event(basic("berth", f"{guess}"))).allowed
        clock.now += RECHECK_SECONDS / 100
    assert store.reads <= 11


def test_denies_while_store_is_unavailable_and_was_never_read(clock: Clock) -> None:
    store = InMemoryPasswords(OLD)
    authorizer = BasicAuthorizer(store, clock)
    store.unavailable = True
    assert authorizer.decide(WITH_OLD) == Decision(AuthorizerOutcome.UNAVAILABLE, "the store is unavailable")
    store.unavailable = False
    assert authorizer.decide(WITH_OLD) == Decision(AuthorizerOutcome.ALLOWED)


@pytest.mark.parametrize(
    ("age", "outcome", "is_fallback"),
    [
        pytest.param(MAX_AGE_SECONDS - 0.001, AuthorizerOutcome.ALLOWED, False, id="recent"),
        pytest.param(MAX_AGE_SECONDS, AuthorizerOutcome.ALLOWED, True, id="too old, if it could be read"),
        pytest.param(GRACE_SECONDS - 0.001, AuthorizerOutcome.ALLOWED, True, id="end of the grace"),
        pytest.param(GRACE_SECONDS, AuthorizerOutcome.UNAVAILABLE, False, id="after the grace"),
        pytest.param(-0.001, AuthorizerOutcome.UNAVAILABLE, False, id="clock set back"),
    ],
)
def test_uses_last_read_for_at_most_15_minutes_while_store_is_unavailable(
    clock: Clock, age: float, outcome: AuthorizerOutcome, is_fallback: bool
) -> None:
    passwords, allow_list = InMemoryPasswords(OLD), InMemoryAllowList("5eed5eed5eed5e1f")
    for store, authorizer, event in (
        (passwords, BasicAuthorizer(passwords, clock), WITH_OLD),
        (allow_list, MutualTLSAuthorizer(allow_list, clock), CALLER),
    ):
        clock.now = NOW
        assert authorizer.decide(event).allowed
        store.unavailable = True
        clock.now += age
        decision = authorizer.decide(event)
        assert (decision.outcome, decision.is_fallback) == (outcome, is_fallback)
        assert ("the store is unavailable" in decision.detail) == (is_fallback or not decision.allowed)
    assert GRACE_SECONDS == 15 * 60


def test_revoked_certificate_is_denied_30_seconds_after_the_outage(clock: Clock) -> None:
    store = InMemoryAllowList("5eed5eed5eed5e1f")
    authorizer = MutualTLSAuthorizer(store, clock)
    assert authorizer.decide(CALLER).allowed
    store.unavailable = True
    clock.now += MAX_AGE_SECONDS
    assert authorizer.decide(CALLER).is_fallback
    store.text, store.unavailable = "", False
    clock.now += RETRY_SECONDS
    assert authorizer.decide(CALLER).outcome is AuthorizerOutcome.NOT_LISTED


def test_does_not_read_store_on_every_call_while_it_is_unavailable(clock: Clock) -> None:
    """A store that does not respond takes time that the verb needs."""
    store = InMemoryAllowList("5eed5eed5eed5e1f")
    authorizer = MutualTLSAuthorizer(store, clock)
    assert authorizer.decide(CALLER).allowed
    store.unavailable = True
    clock.now += MAX_AGE_SECONDS
    for _ in range(100):
        assert authorizer.decide(CALLER).is_fallback
        clock.now += RETRY_SECONDS / 50
    assert store.reads == 3


def test_does_not_deny_based_on_old_credentials_while_store_is_unavailable(clock: Clock) -> None:
    store = InMemoryPasswords(OLD)
    authorizer = BasicAuthorizer(store, clock)
    assert authorizer.decide(WITH_OLD).allowed
    store.secret, store.unavailable = NEW, True
    clock.now += RECHECK_SECONDS
    assert authorizer.decide(WITH_NEW) == Decision(AuthorizerOutcome.UNAVAILABLE, "the store is unavailable")


def test_reads_store_again_if_the_clock_was_set_back(clock: Clock) -> None:
    store = InMemoryPasswords(OLD)
    authorizer = BasicAuthorizer(store, clock)
    authorizer.decide(WITH_OLD)
    clock.now -= 3600
    store.secret = NEW
    assert not authorizer.decide(WITH_OLD).allowed


def test_denies_revoked_certificate(clock: Clock) -> None:
    store = InMemoryAllowList("5eed5eed5eed5e1f\n5eed5eed5eed5e2a\nnonsense")
    authorizer = MutualTLSAuthorizer(store, clock)
    assert authorizer.decide(CALLER).allowed
    store.text = "5eed5eed5eed5e2a\nnonsense"
    clock.now += MAX_AGE_SECONDS
    assert authorizer.decide(CALLER) == Decision(
        AuthorizerOutcome.NOT_LISTED, "certificate 5eed5eed5eed5e1f; malformed lines in the allow-list: 1"
    )


def test_does_not_read_allow_list_if_the_certificate_is_missing(clock: Clock) -> None:
    store = InMemoryAllowList("5eed5eed5eed5e1f")
    assert MutualTLSAuthorizer(store, clock).decide(with_client_certificate(None)).outcome is (
        AuthorizerOutcome.NO_CREDENTIALS
    )
    assert store.reads == 0


def test_preload_reads_the_store_for_the_next_request(clock: Clock) -> None:
    passwords, allow_list = InMemoryPasswords(OLD), InMemoryAllowList("5eed5eed5eed5e1f")
    for authorizer, event in (
        (BasicAuthorizer(passwords, clock), WITH_OLD),
        (MutualTLSAuthorizer(allow_list, clock), CALLER),
    ):
        authorizer.preload()
        assert authorizer.decide(event).allowed
    assert (passwords.reads, allow_list.reads) == (1, 1)


def test_preload_returns_why_the_store_cannot_be_read(clock: Clock) -> None:
    store = InMemoryAllowList("5eed5eed5eed5e1f")
    authorizer = MutualTLSAuthorizer(store, clock)
    store.unavailable = True
    assert authorizer.preload() == "the store is unavailable"
    store.unavailable = False
    assert authorizer.preload() == ""
    store.unavailable = True
    clock.now += MAX_AGE_SECONDS
    assert authorizer.preload() == "the store is unavailable", "although the last read is still used"


def test_password_age_counts_from_the_start_of_the_read(clock: Clock) -> None:
    """A password removed during the read must not count as fresh."""

    class Slow(InMemoryPasswords):
        def read(self) -> Passwords:
            found = super().read()
            clock.now += 10
            return found

    store = Slow(OLD)
    authorizer = BasicAuthorizer(store, clock)
    assert authorizer.decide(WITH_OLD).allowed
    store.secret = NEW
    clock.now = NOW + MAX_AGE_SECONDS
    assert not authorizer.decide(WITH_OLD).allowed
