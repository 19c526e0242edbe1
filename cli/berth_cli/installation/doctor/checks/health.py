"""Checks the response of /healthz: the cache's age, the watcher's heartbeat, the clock and the configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth.nodecache.health import HealthOutcome
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.installation.doctor.checks.account import TAKEOVER_SECONDS
from berth_cli.installation.doctor.checks.verbs import IS_IT_BERTH
from berth_cli.installation.doctor.findings import CheckName, Finding, failed, ok, skipped, warning
from berth_cli.sources.server import Endpoint, HttpResponse, NoResponse, RunningBerth, json_object

CACHE, CLOCK, CONFIGURATION = CheckName.CACHE, CheckName.CLOCK, CheckName.CONFIGURATION
MAX_SKEW_SECONDS = 5.0
AWS_MAX_SKEW_SECONDS = 300.0
"""The maximum difference in seconds between the times of a request's signature and of AWS."""

CLOCK_REMEDY = "synchronize both clocks with a time server"
WATCHER_LOG_REMEDY = "see the watcher's log; docs/reference/events-and-reasons.md lists the reasons"
LEDGER_REMEDIES: Mapping[str, str] = {
    HealthOutcome.COUNTING_LOST: (
        "nothing is bound until then; docs/concepts/ledger.md: When the configuration is lost"
    ),
    HealthOutcome.COUNTED_ELSEWHERE: (
        "stop one of the two servers; pods that request counted resources wait until then: docs/concepts/ledger.md: "
        "One ledger for a cluster"
    ),
}
FALLBACK_REMEDY = (
    "deploy plugins with which it loads, or go back with berth config rollback: docs/how-to/custom-plugin.md: Roll back"
)
PLUGINS_REMEDY = "berth config apply tries the configuration with these plugins: docs/how-to/custom-plugin.md"


def check_healthz(endpoint: Endpoint) -> Iterator[Finding]:
    """Check freshness, heartbeat and clock with one response."""
    answer = endpoint.healthz()
    if isinstance(answer, NoResponse):
        yield failed(CACHE, f"/healthz: {answer.cause}", IS_IT_BERTH)
        return
    yield check_clock(answer)
    content = json_object(answer)
    if content is None or "status" not in content:
        yield failed(CACHE, f"/healthz: status {answer.status}, not a response of Berth", IS_IT_BERTH)
        return
    ledger_remedy = LEDGER_REMEDIES.get(str(content.get("status")))
    if ledger_remedy is not None:
        yield failed(CheckName.MANAGED_RESOURCES, str(content.get("reason", "")), ledger_remedy)
        return
    if fallback := content.get("configurationFallback"):
        yield failed(CONFIGURATION, f"the applied configuration is not in use: {fallback}", FALLBACK_REMEDY)
    if difference := content.get("pluginDifference"):
        yield warning(CONFIGURATION, str(difference), PLUGINS_REMEDY)
    yield _freshness(content)
    if "heartbeatAgeSeconds" in content:
        yield _heartbeat(_number(content, "heartbeatAgeSeconds"))


def check_clock(answer: HttpResponse) -> Finding:
    """Compare the clocks. The Date header is rounded to a second, and its time may be any moment of the call."""
    if answer.date is None:
        return skipped(CLOCK, "Berth sends no Date header")
    # The header 12:00:07 stands for any moment of that second.
    skew = answer.date + 0.5 - answer.requested_at
    message = f"Berth's clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} this machine's"
    certain = abs(skew) - 0.5 - answer.seconds / 2
    if certain > AWS_MAX_SKEW_SECONDS:
        return failed(CLOCK, f"{message}: AWS rejects requests signed with it, and EKS tokens too", CLOCK_REMEDY)
    if certain > MAX_SKEW_SECONDS:
        return warning(CLOCK, f"{message}: ages and expiry dates are computed wrongly", CLOCK_REMEDY)
    return ok(CLOCK, "Berth's clock agrees with this machine's")


def _freshness(content: Mapping[str, object]) -> Finding:
    if "observedAgeSeconds" not in content:
        return failed(CACHE, str(content.get("reason", "no age in the response")), WATCHER_LOG_REMEDY)
    age, limit = _number(content, "observedAgeSeconds"), _number(content, "maxStalenessSeconds")
    shown = f"{age:.1f} s old; the limit is {limit:g} s"
    if age > limit:
        return failed(CACHE, f"{shown}: whenStale applies", WATCHER_LOG_REMEDY)
    if age < -MAX_SKEW_SECONDS:
        return warning(CACHE, f"{shown}: the watcher's clock is ahead of the verbs'", CLOCK_REMEDY)
    if age > limit / 2:
        return warning(CACHE, shown, WATCHER_LOG_REMEDY)
    return ok(CACHE, shown)


def _heartbeat(age: float) -> Finding:
    if age > TAKEOVER_SECONDS:
        message = f"last published {age:.0f} s ago: no watcher is running"
        return failed(CheckName.WATCHER, message, f"see the checks schedule and lease; {WATCHER_LOG_REMEDY}")
    return ok(CheckName.WATCHER, f"published {max(0.0, age):.1f} s ago")


def check_configuration(running: RunningBerth, given: BerthConfiguration) -> Iterator[Finding]:
    """Compare the configurations. `given`: the document of --config. Yields nothing if it is in use, or if Berth's
    configuration is unknown."""
    in_use = running.configuration
    if in_use is None or in_use == given:
        return
    fields = [
        info.alias or name
        for name, info in BerthConfiguration.model_fields.items()
        if getattr(in_use, name) != getattr(given, name)
    ]
    yield failed(
        CONFIGURATION,
        f"Berth runs another configuration than the given one; it differs in {', '.join(fields)}",
        "give the document that is in use, or apply this one: berth config apply, or berth serve --config",
    )


def _number(content: Mapping[str, object], name: str) -> float:
    value = content.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
