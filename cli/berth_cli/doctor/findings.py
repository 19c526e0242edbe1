"""What a check says: one line about one thing, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Result(StrEnum):
    """SKIPPED: nothing is known, and `told` says why. WARNING: it works, and not as well as it could."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


class CheckName(StrEnum):
    """What is looked at. docs/reference/doctor.md has each with its cause and its remedy."""

    # the scheduler's configuration
    SCHEDULER = "scheduler"
    EXTENDER = "extender"
    PERCENTAGE_OF_NODES_TO_SCORE = "percentageOfNodesToScore"
    LEADER_ELECTION = "leaderElection"
    NODE_CACHE_CAPABLE = "nodeCacheCapable"
    WEIGHT = "weight"
    FILTER_ONLYONE = "filter_onlyone"
    BIND_VERB = "bindVerb"
    IGNORABLE = "ignorable"
    MANAGED_RESOURCES = "managedResources"
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

    # the cluster and the account
    WATCHER = "watcher"
    KUBECONFIG = "kubeconfig"
    KUBECONFIG_SECRET = "kubeconfig-secret"  # noqa: S105  a name
    WATCHER_RIGHTS = "watcher-rights"
    BIND_RIGHTS = "bind-rights"
    WAKE_UP = "wake-up"
    SAME_CLUSTER = "same-cluster"
    STACK = "stack"
    CONFIGURATION = "configuration"
    TABLE = "table"
    LEASE = "lease"
    SCHEDULE = "schedule"
    FUNCTIONS = "functions"

    # of which nothing was given
    ROLES = "roles"
    ADDRESS = "address"
    CLUSTER = "cluster"
    ACCOUNT = "account"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    check: CheckName
    result: Result
    told: str
    remedy: str = ""


def ok(check: CheckName, told: str) -> Finding:
    """As it should be."""
    return Finding(check, Result.OK, told)


def warning(check: CheckName, told: str, remedy: str) -> Finding:
    """It works, and not as well as it could."""
    return Finding(check, Result.WARNING, told, remedy)


def failed(check: CheckName, told: str, remedy: str) -> Finding:
    """It does not work, or not as its operator believes."""
    return Finding(check, Result.FAILED, told, remedy)


def skipped(check: CheckName, why: str, remedy: str = "") -> Finding:
    """It was not looked at."""
    return Finding(check, Result.SKIPPED, why, remedy)
