"""Fakes of the endpoint, cluster and account that doctor reads; a test sets their responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from berth.authentication.allow_list import AllowList
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth_cli.installation.doctor.aws_account import AccountUnavailable, AWSAccount, HeadItem, Schedule
from berth_cli.installation.doctor.cluster_access import ClusterAccess, Permission, Unlisted
from berth_cli.sources.server import Endpoint, HttpResponse, NoResponse, ServerCertificate, Subject

ADDRESS = "https://berth.example.com/scheduler"
NOW = 1_800_000_000.0

HEALTHY: Mapping[str, object] = {
    "status": "ok",
    "observedAgeSeconds": 0.4,
    "maxStalenessSeconds": 180,
    "heartbeatAgeSeconds": 0.4,
}


def answered(content: object, status: int = 200, *, seconds: float = 0.01, ahead: float | None = 0.0) -> HttpResponse:
    """Return a response. `ahead`: seconds by which the server's clock is ahead; None: no Date header."""
    body = content if isinstance(content, bytes) else orjson.dumps(content)
    return HttpResponse(status, body, seconds, None if ahead is None else NOW + ahead - 0.5, NOW)


def _verb_finding(name: str) -> HttpResponse:
    good = {
        "filter": {"NodeNames": [], "Error": ""},
        "filter_onlyone": {"NodeNames": [], "Error": ""},
        "prioritize": [{"Host": "berth-doctor", "Score": 0}],
        "bind": {"Error": "the binding request has no valid PodName"},
        "preempt": {"NodeNameToMetaVictims": {}},
    }
    return answered(good[name]) if name in good else answered({"message": "Not Found"}, 404)


@dataclass
class FakeEndpoint(Endpoint):
    """Responds like a healthy Berth except for the given values. `calls`: the called verbs."""

    verbs: Mapping[str, HttpResponse | NoResponse] = field(default_factory=dict)
    health: HttpResponse | NoResponse = field(default_factory=lambda: answered(HEALTHY))
    named_users: HttpResponse | NoResponse = field(default_factory=lambda: answered({"message": "Not Found"}, 404))
    shown: ServerCertificate | NoResponse | None = field(default_factory=lambda: ServerCertificate(NOW + 90 * 86400.0))
    calls: list[tuple[str, bytes]] = field(default_factory=list)
    address: str = ADDRESS

    def verb(self, name: str, body: bytes) -> HttpResponse | NoResponse:
        self.calls.append((name, body))
        return self.verbs.get(name) or _verb_finding(name)

    def healthz(self) -> HttpResponse | NoResponse:
        return self.health

    def get(self, name: str, body: bytes | None = None) -> HttpResponse | NoResponse:
        return {"users": self.named_users}[name]

    def certificate(self) -> ServerCertificate | NoResponse | None:
        return self.shown


@dataclass
class FakeAccess(ClusterAccess):
    """A user with all permissions except `forbidden`; `forbidden_to`: missing permissions of other users, by
    name. `unreachable`: every call fails.
    """

    forbidden: Callable[[Permission], bool] = lambda right: False
    forbidden_to: Mapping[str, Callable[[Permission], bool]] = field(default_factory=dict)
    unreachable: str = ""
    cluster: str = "uid-of-the-cluster"
    nodes: Sequence[str] = ()
    wake_up_error: str = ""
    pending: Sequence[dict[str, Any]] = ()
    name: str = "system:serviceaccount:kube-system:berth"
    kubernetes: str = "v1.36.3"
    documents: Mapping[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    custom: Mapping[str, Sequence[Mapping[str, Any]] | Unlisted] = field(default_factory=dict)

    def _check(self) -> None:
        if self.unreachable:
            raise ClusterUnavailable(self.unreachable)

    def user(self) -> str:
        self._check()
        return self.name

    def is_allowed(self, right: Permission) -> bool:
        self._check()
        return not self.forbidden(right)

    def uid(self) -> str:
        self._check()
        return self.cluster

    def version(self) -> str:
        self._check()
        return self.kubernetes

    def node_names(self) -> list[str]:
        self._check()
        return list(self.nodes)

    def pending_pods(self) -> list[dict[str, Any]]:
        self._check()
        return list(self.pending)

    def custom_resources(self, path: str) -> Sequence[Mapping[str, Any]] | Unlisted:
        self._check()
        return self.custom.get(path, Unlisted.NOT_DEFINED)

    def as_user(self, subject: Subject) -> ClusterAccess:
        return replace(self, name=subject.name, forbidden=self.forbidden_to.get(subject.name, self.forbidden))

    def try_wake_up(self) -> str:
        self._check()
        return self.wake_up_error

    def config_texts(self, namespace: str, name: str) -> dict[str, str]:
        self._check()
        return self.documents.get((namespace, name), {})


@dataclass
class FakeAccount(AWSAccount):
    """A stack's account. `error`: raised by every method."""

    item: HeadItem | None = None
    scheduled: Sequence[Schedule] = (Schedule("every-minute", "ENABLED", "rate(1 minute)"),)
    error: AccountUnavailable | None = None
    epoch: int | None = None
    concurrency: int = 1000
    allowed: AllowList | None = None

    def _check(self) -> None:
        if self.error is not None:
            raise self.error

    def head(self) -> HeadItem | None:
        self._check()
        return self.item

    def ledger_epoch(self) -> int | None:
        self._check()
        return self.epoch

    def schedules(self) -> list[Schedule]:
        self._check()
        return list(self.scheduled)

    def concurrent_executions(self) -> int:
        self._check()
        return self.concurrency

    def allow_list(self) -> AllowList | None:
        self._check()
        return self.allowed
