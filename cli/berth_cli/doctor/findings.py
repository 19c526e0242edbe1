"""A finding of a check: one line about one thing, and its remedy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Result(StrEnum):
    """SKIPPED: not checked, the message says why. WARNING: it works, with a disadvantage."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


class CheckName(StrEnum):
    """The names of the checks. docs/reference/doctor.md describes each with cause and remedy."""

    # the scheduler's configuration
    SCHEDULER = "scheduler"
    SCHEDULER_NAME = "schedulerName"
    EXTENDER = "extender"
    PERCENTAGE_OF_NODES_TO_SCORE = "percentageOfNodesToScore"
    LEADER_ELECTION = "leaderElection"
    NODE_CACHE_CAPABLE = "nodeCacheCapable"
    WEIGHT = "weight"
    FILTER_ONLYONE = "filter_onlyone"
    BIND_VERB = "bindVerb"
    IGNORABLE = "ignorable"
    MANAGED_RESOURCES = "managedResources"
    GANGS = "gangs"
    URL_PREFIX = "urlPrefix"
    VERIFICATION = "verification"
    TLS_CONFIG = "tlsConfig"
    CREDENTIALS = "credentials"

    # the address
    SERVER_CERTIFICATE = "server-certificate"
    CLIENT_CERTIFICATE = "client-certificate"
    VERBS = "verbs"
    FILTER_VERB = "filterVerb"
    PRIORITIZE_VERB = "prioritizeVerb"
    PREEMPT_VERB = "preemptVerb"
    HTTP_TIMEOUT = "httpTimeout"
    CLOCK = "clock"
    CACHE = "cache"
    POLICY = "policy"

    # the cluster and the account
    WATCHER = "watcher"
    KUBECONFIG = "kubeconfig"
    KUBECONFIG_SECRET = "kubeconfig-secret"  # noqa: S105  a name
    WATCHER_RIGHTS = "watcher-rights"
    BIND_RIGHTS = "bind-rights"
    WAKE_UP = "wake-up"
    SAME_CLUSTER = "same-cluster"
    KUBERNETES_VERSION = "kubernetes-version"
    STACK = "stack"
    CONFIGURATION = "configuration"
    TABLE = "table"
    LEASE = "lease"
    SCHEDULE = "schedule"
    FUNCTIONS = "functions"

    # groups of checks without input
    ROLES = "roles"
    ADDRESS = "address"
    CLUSTER = "cluster"
    ACCOUNT = "account"


STALE_CACHE = frozenset({CheckName.CACHE, CheckName.FILTER_VERB, CheckName.PRIORITIZE_VERB, CheckName.PREEMPT_VERB})
"""The checks that fail while the cache is stale or empty."""

NO_WATCHER = STALE_CACHE | {CheckName.WATCHER, CheckName.LEASE, CheckName.TABLE}
"""The checks that fail while no watcher runs."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check for one thing.

    explains: checks that fail for this cause. is_effect: the finding may have its cause in another check.
    """

    check: CheckName
    result: Result
    message: str
    remedy: str = ""
    explains: frozenset[CheckName] = frozenset()
    is_effect: bool = False


def ok(check: CheckName, message: str) -> Finding:
    """The check passed."""
    return Finding(check, Result.OK, message)


def warning(check: CheckName, message: str, remedy: str, *, is_effect: bool = False) -> Finding:
    """It works, with a disadvantage."""
    return Finding(check, Result.WARNING, message, remedy, is_effect=is_effect)


def failed(
    check: CheckName,
    message: str,
    remedy: str,
    *,
    explains: frozenset[CheckName] = frozenset(),
    is_effect: bool = False,
) -> Finding:
    """It does not work, or not as configured."""
    return Finding(check, Result.FAILED, message, remedy, explains, is_effect)


def skipped(check: CheckName, message: str, remedy: str = "") -> Finding:
    """It was not checked."""
    return Finding(check, Result.SKIPPED, message, remedy)


def skip_effects(findings: Sequence[Finding]) -> list[Finding]:
    """Report each cause once: a finding that another one explains is skipped, and names the check of its cause."""
    causes = _reported_causes(findings)
    return [
        skipped(finding.check, f"{finding.message}: see the check {causes[finding].check}")
        if finding in causes
        else finding
        for finding in findings
    ]


def _reported_causes(findings: Sequence[Finding]) -> dict[Finding, Finding]:
    """By effect, a cause that is itself no effect. Of findings that explain each other, the first is the cause."""
    causes: dict[Finding, Finding] = {}
    roots = [finding for finding in findings if not any(_explains(each, finding) for each in findings)]
    for root in [*roots, *findings]:
        if root not in causes:
            _collect_effects(root, root, findings, causes)
    return causes


def _collect_effects(
    root: Finding, cause: Finding, findings: Sequence[Finding], causes: dict[Finding, Finding]
) -> None:
    for effect in findings:
        if effect != root and effect not in causes and _explains(cause, effect):
            causes[effect] = root
            _collect_effects(root, effect, findings, causes)


def _explains(cause: Finding, effect: Finding) -> bool:
    """No check is its own cause."""
    is_cause = cause.result is Result.FAILED and effect.check in cause.explains
    return is_cause and effect.is_effect and effect.check != cause.check
