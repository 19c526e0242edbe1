"""The response of /healthz: age of the cache, the watcher's heartbeat, the server's clock and its configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth.nodecache.health import HealthOutcome
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.doctor.access.endpoint import Endpoint, HttpResponse, NoResponse
from berth_cli.doctor.access.running import RunningBerth, json_object
from berth_cli.doctor.findings import STALE_CACHE, CheckName, Finding, failed, ok, skipped, warning

CACHE, WATCHER, CLOCK = CheckName.CACHE, CheckName.WATCHER, CheckName.CLOCK
MAX_HEARTBEAT_AGE_SECONDS = 150.0
"""Longer than one minute until the schedule, a cold start and listing the cluster together."""
MAX_SKEW_SECONDS = 5.0
AWS_MAX_SKEW_SECONDS = 300.0
"""AWS rejects requests whose signature time differs by more."""

WATCHER_LOG_REMEDY = "see the watcher's log; docs/reference/events-and-reasons.md lists the reasons"


COUNTING_REMEDY = "nothing is bound until then; docs/concepts/ledger.md: When the configuration is lost"


HOLDER_REMEDY = (
    "stop one of the two servers; pods that request counted resources wait until then: docs/concepts/ledger.md: One "
    "ledger for a cluster"
)


FALLBACK_REMEDY = (
    "deploy plugins with which it loads, or go back with berth config rollback: docs/how-to/custom-plugin.md: Roll back"
)


PLUGINS_REMEDY = "berth config apply tries the configuration with these plugins: docs/how-to/custom-plugin.md"


def check_healthz(endpoint: Endpoint) -> Iterator[Finding]:
    """Freshness, heartbeat and clock from one response."""
    answer = endpoint.healthz()
    if isinstance(answer, NoResponse):
        yield failed(CACHE, f"/healthz: {answer.cause}", f"check whether {endpoint.address} is Berth")
        return
    yield from check_clock("Berth", answer)
    content = json_object(answer)
    if content is None or "status" not in content:
        yield failed(
            CACHE,
            f"/healthz: status {answer.status}, not a response of Berth",
            f"check whether {endpoint.address} is Berth",
        )
        return
    if content.get("status") == HealthOutcome.COUNTING_LOST:
        yield failed(CheckName.MANAGED_RESOURCES, str(content.get("reason", "")), COUNTING_REMEDY)
        return
    if content.get("status") == HealthOutcome.COUNTED_ELSEWHERE:
        yield failed(CheckName.MANAGED_RESOURCES, str(content.get("reason", "")), HOLDER_REMEDY)
        return
    if fallback := content.get("configurationFallback"):
        yield failed(CheckName.CONFIGURATION, f"the applied configuration is not in use: {fallback}", FALLBACK_REMEDY)
    if difference := content.get("pluginDifference"):
        yield warning(CheckName.CONFIGURATION, str(difference), PLUGINS_REMEDY)
    yield _freshness(content)
    if "heartbeatAgeSeconds" in content:
        yield _heartbeat(_number(content, "heartbeatAgeSeconds"))


def check_clock(server: str, answer: HttpResponse) -> Iterator[Finding]:
    """Compare clocks. The Date header has a resolution of one second and may be from any moment of the call."""
    if answer.date is None:
        yield skipped(CLOCK, f"{server} sends no Date header")
        return
    # The header 12:00:07 stands for any moment of that second.
    skew = answer.date + 0.5 - answer.requested_at
    message = f"{server}'s clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} this machine's"
    remedy = "synchronize both clocks with a time server"
    certain = abs(skew) - 0.5 - answer.seconds / 2
    if certain > AWS_MAX_SKEW_SECONDS:
        yield failed(CLOCK, f"{message}: AWS rejects requests signed with it, and EKS tokens too", remedy)
    elif certain > MAX_SKEW_SECONDS:
        yield warning(CLOCK, f"{message}: ages and expiry dates are computed wrongly", remedy)
    else:
        yield ok(CLOCK, f"{server}'s clock agrees with this machine's")


def _freshness(content: Mapping[str, object]) -> Finding:
    if "observedAgeSeconds" not in content:
        return _not_usable(str(content.get("reason", "no age in the response")))
    age, limit = _number(content, "observedAgeSeconds"), _number(content, "maxStalenessSeconds")
    shown = f"{age:.1f} s old; the limit is {limit:g} s"
    if age > limit:
        return _not_usable(f"{shown}: whenStale applies")
    if age < -MAX_SKEW_SECONDS:
        return warning(
            CACHE, f"{shown}: the watcher's clock is ahead of the verbs'", "synchronize both clocks with a time server"
        )
    if age > limit / 2:
        return warning(CACHE, shown, WATCHER_LOG_REMEDY, is_effect=True)
    return ok(CACHE, shown)


def _not_usable(message: str) -> Finding:
    return failed(CACHE, message, WATCHER_LOG_REMEDY, explains=STALE_CACHE, is_effect=True)


def _heartbeat(age: float) -> Finding:
    if age > MAX_HEARTBEAT_AGE_SECONDS:
        return failed(
            WATCHER,
            f"last published {age:.0f} s ago: no watcher is running",
            "see the checks schedule and lease; " + WATCHER_LOG_REMEDY,
            explains=STALE_CACHE,
            is_effect=True,
        )
    return ok(WATCHER, f"published {max(0.0, age):.1f} s ago")


def check_configuration(running: RunningBerth, given: BerthConfiguration) -> Iterator[Finding]:
    """`given`: the document of --config. Nothing if it is in use, or if the one in use is unknown."""
    in_use = running.configuration
    if in_use is None or in_use == given:
        return
    fields = [
        info.alias or name
        for name, info in BerthConfiguration.model_fields.items()
        if getattr(in_use, name) != getattr(given, name)
    ]
    yield failed(
        CheckName.CONFIGURATION,
        f"Berth runs another configuration than the given one; it differs in {', '.join(fields)}",
        "give the document that is in use, or apply this one: berth config apply, or berth serve --config",
    )


def _number(content: Mapping[str, object], name: str) -> float:
    value = content.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
