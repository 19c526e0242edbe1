"""The findings of checks, each about one subject, with its remedy. Formats the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

import click


class Result(StrEnum):
    """The result of a check. SKIPPED: not checked; the message states why. WARNING: it works but has a drawback."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


class CheckName(StrEnum):
    """The names of the checks. docs/reference/doctor.md describes each with cause and remedy."""

    # the account
    STACK = "stack"
    TABLE = "table"
    LEASE = "lease"
    SCHEDULE = "schedule"
    ALLOW_LIST = "allow-list"

    # the cluster
    KUBECONFIG = "kubeconfig"
    KUBECONFIG_SECRET = "kubeconfig-secret"  # noqa: S105  a name
    KUBERNETES_VERSION = "kubernetes-version"
    SAME_CLUSTER = "same-cluster"
    WATCHER_RIGHTS = "watcher-rights"
    BIND_RIGHTS = "bind-rights"
    WAKE_UP = "wake-up"
    NODE_POOLS = "node-pools"

    # the scheduler's configuration
    SCHEDULER = "scheduler"
    SCHEDULER_NAME = "schedulerName"
    EXTENDER = "extender"
    PERCENTAGE_OF_NODES_TO_SCORE = "percentageOfNodesToScore"
    LEADER_ELECTION = "leaderElection"
    NODE_CACHE_CAPABLE = "nodeCacheCapable"
    BIND_VERB = "bindVerb"
    IGNORABLE = "ignorable"
    MANAGED_RESOURCES = "managedResources"
    GANGS = "gangs"
    URL_PREFIX = "urlPrefix"
    VERIFICATION = "verification"
    CREDENTIALS = "credentials"

    # the address
    CONFIGURATION = "configuration"
    SERVER_CERTIFICATE = "server-certificate"
    CLIENT_CERTIFICATE = "client-certificate"
    VERBS = "verbs"
    FILTER_VERB = "filterVerb"
    PRIORITIZE_VERB = "prioritizeVerb"
    PREEMPT_VERB = "preemptVerb"
    HTTP_TIMEOUT = "httpTimeout"
    CLOCK = "clock"
    CACHE = "cache"
    WATCHER = "watcher"
    POLICY = "policy"

    # inputs without which a group of checks is skipped
    ADDRESS = "address"
    CLUSTER = "cluster"
    ACCOUNT = "account"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check for one object, such as a node pool or an extender."""

    check: CheckName
    result: Result
    message: str
    remedy: str = ""


def ok(check: CheckName, message: str) -> Finding:
    """Make a finding about a check that passed."""
    return Finding(check, Result.OK, message)


def warning(check: CheckName, message: str, remedy: str) -> Finding:
    """Make a finding about a part that works but has a drawback."""
    return Finding(check, Result.WARNING, message, remedy)


def failed(check: CheckName, message: str, remedy: str) -> Finding:
    """Make a finding about a part that does not work, or does not work as configured."""
    return Finding(check, Result.FAILED, message, remedy)


def skipped(check: CheckName, message: str, remedy: str = "") -> Finding:
    """Make a finding about a part that was not checked."""
    return Finding(check, Result.SKIPPED, message, remedy)


COLORS = {Result.OK: "green", Result.WARNING: "yellow", Result.FAILED: "red", Result.SKIPPED: "cyan"}
WIDTH = max(map(len, Result)) + 2


def lines(finding: Finding) -> Iterator[str]:
    """Format the finding and its remedy as colored lines; click removes the colors in a pipe."""
    # Messages of other systems may contain line breaks.
    yield f"{click.style(f'{finding.result:<{WIDTH}}', fg=COLORS[finding.result])}{finding.check}: " + " ".join(
        finding.message.split()
    )
    if finding.remedy:
        yield f"{'':<{WIDTH}}{click.style('->', dim=True)} {finding.remedy}"


def summary(findings: Sequence[Finding]) -> str:
    """Return the number of findings per result."""
    counted = Counter(finding.result for finding in findings)
    return ", ".join(f"{counted[result]} {result}" for result in Result if counted[result])


def document(findings: Sequence[Finding]) -> dict[str, object]:
    """Build the document for programs."""
    counted = Counter(finding.result for finding in findings)
    return {
        "findings": [asdict(each) for each in findings],
        "summary": {result.value: counted[result] for result in Result},
    }


def exit_status(findings: Sequence[Finding], *, strict: bool) -> int:
    """Return 1 if a check failed, or, with `strict`, if a check warned; otherwise 0."""
    failures = {Result.FAILED, Result.WARNING} if strict else {Result.FAILED}
    return 1 if any(finding.result in failures for finding in findings) else 0
