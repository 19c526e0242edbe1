"""Compare the verbs' latency with the scheduler's httpTimeout (facts 5 and 9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth_cli.doctor.access.endpoint import Endpoint, HttpResponse
from berth_cli.doctor.checks.verbs import probe
from berth_cli.doctor.findings import CheckName, Finding, failed, ok, skipped, warning
from berth_cli.scheduler_config.notes import API_GATEWAY_TIMEOUT_SECONDS, MIN_BIND_TIMEOUT_SECONDS

CHECK = CheckName.HTTP_TIMEOUT
CALLS = 5
MAX_MEASURING_SECONDS = 2.0
TIMED_FIELDS = ("filterVerb", "prioritizeVerb")


def check_latency(
    endpoint: Endpoint, verbs_by_field: Mapping[str, str], nodes: list[str], timeout: float
) -> Iterator[Finding]:
    """`nodes`: names in the requests, as many as the cluster has. `timeout`: the scheduler's httpTimeout in seconds."""
    slowest: dict[str, float] = {}
    for field, verb in verbs_by_field.items():
        if field in TIMED_FIELDS:
            times = _times(endpoint, verb, probe(field, nodes))
            if times:
                slowest[verb] = max(times)
    if not slowest:
        yield skipped(CHECK, "no verb responded, so no latency was measured")
        return
    took = ", ".join(f"{verb} {seconds * 1000:.0f} ms" for verb, seconds in slowest.items())
    measured = f"slowest of {CALLS} calls with {len(nodes) or 1} node names each: {took}"
    longest = max(slowest.values())
    if longest >= timeout:
        yield failed(CHECK, f"{timeout:g} s, and {measured}: calls time out", "raise httpTimeout")
    elif longest > timeout / 2:
        yield warning(CHECK, f"{timeout:g} s, and {measured}: a slow call may time out", "raise httpTimeout")
    else:
        yield ok(CHECK, f"{timeout:g} s; {measured}")
    if timeout > API_GATEWAY_TIMEOUT_SECONDS:
        yield warning(
            CHECK,
            f"{timeout:g} s: API Gateway ends requests after {API_GATEWAY_TIMEOUT_SECONDS} s",
            "lower httpTimeout",
        )


def _times(endpoint: Endpoint, verb: str, body: bytes) -> list[float]:
    """Durations of answered calls in seconds. Stops early when the calls are slow."""
    times: list[float] = []
    for _ in range(CALLS):
        answer = endpoint.verb(verb, body)
        if not isinstance(answer, HttpResponse) or answer.status != 200:
            break
        times.append(answer.seconds)
        if sum(times) > MAX_MEASURING_SECONDS:
            break
    return times


def check_bind_time(timeout: float, stack_timeout: float | None) -> Iterator[Finding]:
    """bind must respond one second before httpTimeout ends, or a successful Binding counts as failed (fact 23)."""
    if timeout < MIN_BIND_TIMEOUT_SECONDS:
        yield failed(
            CHECK, f"{timeout:g} s: bind cannot respond in time (fact 23)", f"set {MIN_BIND_TIMEOUT_SECONDS}s or more"
        )
    if stack_timeout is not None and timeout < stack_timeout:
        yield failed(
            CHECK,
            f"{timeout:g} s, and the stack's bind runs for up to {stack_timeout - 1:g} s: a Binding that took effect "
            "can count as failed (fact 23)",
            "deploy with the same value of HttpTimeoutSeconds",
        )
