"""How long the verbs take, against the time that the scheduler gives them (facts 5 and 9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth_cli.doctor.access.endpoint import Answered, Endpoint
from berth_cli.doctor.checks.verbs import probe
from berth_cli.doctor.findings import CheckName, Finding, failed, ok, skipped, warning
from berth_cli.scheduler_config.notes import GATEWAY_SECONDS, LEAST_BIND_SECONDS

CHECK = CheckName.HTTP_TIMEOUT
CALLS = 5
ENOUGH_SECONDS = 2.0
TIMED = ("filterVerb", "prioritizeVerb")


def latency(endpoint: Endpoint, named: Mapping[str, str], nodes: list[str], timeout: float) -> Iterator[Finding]:
    """`nodes`: names to ask about, as many as the cluster has; `timeout`: the scheduler's httpTimeout in seconds."""
    slowest: dict[str, float] = {}
    for field, verb in named.items():
        if field in TIMED:
            times = _times(endpoint, verb, probe(field, nodes))
            if times:
                slowest[verb] = max(times)
    if not slowest:
        yield skipped(CHECK, "no verb has answered, so no time was measured")
        return
    took = ", ".join(f"{verb} {seconds * 1000:.0f} ms" for verb, seconds in slowest.items())
    measured = f"the slowest of {CALLS} calls, names of nodes in each: {len(nodes) or 1}: {took}"
    longest = max(slowest.values())
    if longest >= timeout:
        yield failed(CHECK, f"{timeout:g} s, and {measured}: calls are given up", "raise httpTimeout")
    elif longest > timeout / 2:
        yield warning(CHECK, f"{timeout:g} s, and {measured}: little is left for a slow call", "raise httpTimeout")
    else:
        yield ok(CHECK, f"{timeout:g} s; {measured}")
    if timeout > GATEWAY_SECONDS:
        yield warning(CHECK, f"{timeout:g} s: API Gateway gives up after {GATEWAY_SECONDS} s", "lower httpTimeout")


def _times(endpoint: Endpoint, verb: str, body: bytes) -> list[float]:
    """Of the calls that were answered; no more calls when they have taken long enough to know."""
    times: list[float] = []
    for _ in range(CALLS):
        answer = endpoint.verb(verb, body)
        if not isinstance(answer, Answered) or answer.status != 200:
            break
        times.append(answer.seconds)
        if sum(times) > ENOUGH_SECONDS:
            break
    return times


def bind_time(timeout: float, stack_timeout: float | None) -> Iterator[Finding]:
    """bind has to end a second before the scheduler gives it up, or what took effect counts as failed (fact 23)."""
    if timeout < LEAST_BIND_SECONDS:
        yield failed(CHECK, f"{timeout:g} s: bind cannot end in time (fact 23)", f"set {LEAST_BIND_SECONDS}s or more")
    if stack_timeout is not None and timeout < stack_timeout:
        yield failed(
            CHECK,
            f"{timeout:g} s, and the stack's bind works for up to {stack_timeout - 1:g} s: a Binding that took effect "
            "can count as failed (fact 23)",
            "deploy with HttpTimeoutSeconds of the same value",
        )
