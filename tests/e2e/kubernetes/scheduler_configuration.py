"""`KubeSchedulerConfiguration` documents with the extenders of a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias

SchedulerConfiguration: TypeAlias = dict[str, Any]


class Mode(StrEnum):
    """The nodes in a request: names for an extender with a node cache, or whole Node objects."""

    CACHE = "cache"
    FULL = "full"


HTTP_TIMEOUT_SECONDS = 10
"""Long enough for a busy machine. A stack must know the timeout: its functions answer before it."""


@dataclass(frozen=True, kw_only=True)
class ClientTLS:
    """The CA of the extender's certificate and, for mutual TLS, the scheduler's certificate."""

    ca_file: Path
    certificate: Path | None = None
    key: Path | None = None

    def document(self) -> dict[str, str]:
        own = {} if self.certificate is None else {"certFile": str(self.certificate), "keyFile": str(self.key)}
        return {"caFile": str(self.ca_file), **own}


@dataclass(frozen=True, kw_only=True)
class ExtenderConfiguration:
    """An entry of `extenders`; a verb that is None is not called."""

    url_prefix: str
    filter_verb: str | None = None
    prioritize_verb: str | None = None
    bind_verb: str | None = None
    preempt_verb: str | None = None
    mode: Mode = Mode.CACHE
    ignorable: bool = False
    weight: int = 1
    http_timeout: str = f"{HTTP_TIMEOUT_SECONDS}s"
    managed_resources: Sequence[str] = ()
    """Resources that the scheduler ignores; it calls the extender only for pods that request one (facts 7 and 38)."""
    tls: ClientTLS | None = None

    def document(self) -> dict[str, Any]:
        verbs = {
            "filterVerb": self.filter_verb,
            "prioritizeVerb": self.prioritize_verb,
            "bindVerb": self.bind_verb,
            "preemptVerb": self.preempt_verb,
        }
        return {
            "urlPrefix": self.url_prefix,
            **{key: verb for key, verb in verbs.items() if verb is not None},
            **({} if self.tls is None else {"enableHTTPS": True, "tlsConfig": self.tls.document()}),
            "weight": self.weight,
            "nodeCacheCapable": self.mode is Mode.CACHE,
            "ignorable": self.ignorable,
            "httpTimeout": self.http_timeout,
            "managedResources": [{"name": name, "ignoredByScheduler": True} for name in self.managed_resources],
        }


def scheduler_configuration(extenders: Sequence[ExtenderConfiguration]) -> SchedulerConfiguration:
    """Return a document for one scheduler process, without the kubeconfig."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        # With less, an extender gets only a sample of the nodes (contract facts 11 and 47).
        "percentageOfNodesToScore": 100,
        "extenders": [extender.document() for extender in extenders],
    }


def filter_prioritize_bind(url_prefix: str, *, mode: Mode = Mode.CACHE) -> ExtenderConfiguration:
    """Let Berth filter and score; the scheduler adds its own scores and chooses the node."""
    return ExtenderConfiguration(
        url_prefix=url_prefix,
        filter_verb="filter",
        prioritize_verb="prioritize",
        bind_verb="bind",
        preempt_verb="preempt",
        mode=mode,
    )


def filter_onlyone_bind(url_prefix: str, *, mode: Mode = Mode.CACHE) -> ExtenderConfiguration:
    """Let Berth choose the node: its filter passes only one."""
    return ExtenderConfiguration(
        url_prefix=url_prefix, filter_verb="filter_onlyone", bind_verb="bind", preempt_verb="preempt", mode=mode
    )
