"""What /healthz tells: is there anything to decide on, how old is it, and what time is it there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import orjson

from berth_cli.doctor.access.endpoint import Answered, Endpoint, Unanswered
from berth_cli.doctor.findings import CheckName, Finding, failed, ok, skipped, warning

CACHE, WATCHER, CLOCK = CheckName.CACHE, CheckName.WATCHER, CheckName.CLOCK
QUIET_SECONDS = 150.0
"""Longer than the schedule's minute, a cold start and a listing together."""
SKEW_SECONDS = 5.0
REFUSED_SKEW_SECONDS = 300.0
"""AWS takes no request that was signed so much earlier or later."""

LOG = "see the watcher's log; docs/reference/events-and-reasons.md lists its reasons"


def healthz(endpoint: Endpoint) -> Iterator[Finding]:
    """Freshness, heartbeat and clock of one answer."""
    answer = endpoint.healthz()
    if isinstance(answer, Unanswered):
        yield failed(CACHE, f"/healthz: {answer.cause}", f"see whether {endpoint.address} is Berth's")
        return
    yield from clock("Berth", answer)
    told = _object(answer)
    if told is None:
        yield failed(
            CACHE,
            f"/healthz: status {answer.status}, and no answer of Berth's",
            f"see whether {endpoint.address} is Berth's",
        )
        return
    yield _freshness(told)
    if "heartbeatAgeSeconds" in told:
        yield _heartbeat(_number(told, "heartbeatAgeSeconds"))


def clock(whose: str, answer: Answered) -> Iterator[Finding]:
    """The Date header has whole seconds, and was written at any moment of the call."""
    if answer.date is None:
        yield skipped(CLOCK, f"{whose} does not tell the time")
        return
    # A header that says 12:00:07 was written somewhere in that second.
    skew = answer.date + 0.5 - answer.asked_at
    told = f"{whose}'s is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} this machine's"
    remedy = "let both follow a time server"
    certain = abs(skew) - 0.5 - answer.seconds / 2
    if certain > REFUSED_SKEW_SECONDS:
        yield failed(CLOCK, f"{told}: AWS refuses requests that are signed so, and EKS tokens with them", remedy)
    elif certain > SKEW_SECONDS:
        yield warning(CLOCK, f"{told}: ages and certificates are judged wrongly", remedy)
    else:
        yield ok(CLOCK, f"{whose}'s agrees with this machine's")


def _freshness(told: Mapping[str, object]) -> Finding:
    if "observedAgeSeconds" not in told:
        return failed(CACHE, str(told.get("reason", "it tells no age")), LOG)
    age, limit = _number(told, "observedAgeSeconds"), _number(told, "maxStalenessSeconds")
    shown = f"{age:.1f} s old; up to {limit:g} s is decided on"
    if age > limit:
        return failed(CACHE, f"{shown}: verbs do as whenStale says", LOG)
    if age < -SKEW_SECONDS:
        return warning(CACHE, f"{shown}: the watcher's clock is ahead of the verbs'", "let both follow a time server")
    if age > limit / 2:
        return warning(CACHE, shown, LOG)
    return ok(CACHE, shown)


def _heartbeat(age: float) -> Finding:
    if age > QUIET_SECONDS:
        return failed(
            WATCHER, f"it last published {age:.0f} s ago: none runs", "see the checks schedule and lease; " + LOG
        )
    return ok(WATCHER, f"it published {max(0.0, age):.1f} s ago")


def _object(answer: Answered) -> Mapping[str, object] | None:
    try:
        content = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return None
    return content if isinstance(content, dict) and "status" in content else None


def _number(told: Mapping[str, object], name: str) -> float:
    value = told.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
