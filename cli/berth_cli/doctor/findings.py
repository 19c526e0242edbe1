"""A finding of a check: one line about one thing, and its remedy."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check for one thing."""

    check: CheckName
    result: Result
    message: str
    remedy: str = ""


def ok(check: CheckName, message: str) -> Finding:
    """The check passed."""
    return Finding(check, Result.OK, message)


def warning(check: CheckName, message: str, remedy: str) -> Finding:
    """It works, with a disadvantage."""
    return Finding(check, Result.WARNING, message, remedy)


def failed(check: CheckName, message: str, remedy: str) -> Finding:
    """It does not work, or not as configured."""
    return Finding(check, Result.FAILED, message, remedy)


def skipped(check: CheckName, message: str, remedy: str = "") -> Finding:
    """It was not checked."""
    return Finding(check, Result.SKIPPED, message, remedy)
