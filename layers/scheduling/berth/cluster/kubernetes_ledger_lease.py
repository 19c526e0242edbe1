"""The Lease of the ledger in the Kubernetes API. Needs `get` and `patch` on its name, and `create` on leases if the
manifests in examples/, which contain the Lease, were not applied."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus

from berth.cluster.api_server.client import (
    JSON,
    JSON_MERGE,
    PRECONDITION_FAILED,
    Answer,
    ApiServer,
    ApiServerUnreachable,
)
from berth.lease.lock import RELEASED_DURATION_SECONDS, Conflict, Lease, LeaseSpec, Unavailable, Written
from berth.ledger.lease import CALL_SECONDS, NAME, NAMESPACE, Holding, LedgerLease
from berth.scheduling.fields.reading import part

COUNTING = "berth.dev/counting-transition"
"""The annotation with the value of `leaseTransitions` for which the holder has finished its takeover. It is stale after
the next takeover."""

COLLECTION = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
PATH = f"{COLLECTION}/{NAME}"
REMEDY = "apply examples/rbac-counted-resources.yaml: it has the Lease and the rights"


class KubernetesLedgerLease(LedgerLease):
    """The Lease at the API server. Makes one request per method. Stateless; may be shared between threads."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api

    def get(self) -> Lease | Unavailable | None:
        return _read(self._request("GET", PATH))

    def create(self, spec: LeaseSpec) -> Written | Conflict | Unavailable:
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": NAME, "namespace": NAMESPACE},
            "spec": _fields(spec),
        }
        return _written(self._request("POST", COLLECTION, body, content_type=JSON))

    def update(self, seen: Lease, spec: LeaseSpec) -> Written | Conflict | Unavailable:
        return _written(self._request("PATCH", PATH, {"metadata": _preconditions(seen), "spec": _fields(spec)}))

    def mark_counting(self, seen: Lease) -> Written | Conflict | Unavailable:
        annotations = {COUNTING: str(seen.spec.lease_transitions)}
        return _written(
            self._request("PATCH", PATH, {"metadata": {**_preconditions(seen), "annotations": annotations}})
        )

    def holding(self, timeout: float) -> Holding | Unavailable | None:
        answer = self._request("GET", PATH, timeout=timeout)
        if isinstance(answer, Unavailable):
            return answer
        lease = _read(answer)
        if not isinstance(lease, Lease):
            return lease
        annotations = part(part(answer.content, "metadata"), "annotations")
        return Holding(lease.spec.holder_identity, annotations.get(COUNTING) == str(lease.spec.lease_transitions))

    def _request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = JSON_MERGE,
        timeout: float = CALL_SECONDS,
    ) -> Answer | Unavailable:
        try:
            return self._api.request(method, path, body=body, content_type=content_type, timeout=timeout)
        except ApiServerUnreachable as error:
            return Unavailable(f"the Lease {NAMESPACE}/{NAME}: {error}")


def _read(answer: Answer | Unavailable) -> Lease | Unavailable | None:
    if isinstance(answer, Unavailable):
        return answer
    if answer.status == HTTPStatus.NOT_FOUND:
        return None
    return _lease(answer) if answer.ok else _refused(answer)


def _written(answer: Answer | Unavailable) -> Written | Conflict | Unavailable:
    if isinstance(answer, Unavailable):
        return answer
    if answer.status in (HTTPStatus.NOT_FOUND, *PRECONDITION_FAILED):
        # The answer does not contain the Lease, so the caller reads it again.
        return Conflict(None)
    lease = _lease(answer) if answer.ok else _refused(answer)
    return lease if isinstance(lease, Unavailable) else Written(lease)


def _refused(answer: Answer) -> Unavailable:
    return Unavailable(f"the Lease {NAMESPACE}/{NAME}: {answer.message}; {REMEDY}")


def _preconditions(seen: Lease) -> dict[str, object]:
    return {"uid": seen.uid, "resourceVersion": str(seen.resource_version)}


def _fields(spec: LeaseSpec) -> dict[str, object]:
    return {
        # null removes the field: the API rejects an empty holder.
        "holderIdentity": spec.holder_identity or None,
        "leaseDurationSeconds": spec.lease_duration_seconds,
        "acquireTime": _micro_time(spec.acquire_time),
        "renewTime": _micro_time(spec.renew_time),
        "leaseTransitions": spec.lease_transitions,
    }


def _lease(answer: Answer) -> Lease | Unavailable:
    """Read a Lease. A Lease without a holder is free. Its times are informational; decisions do not depend on them."""
    metadata, spec = part(answer.content, "metadata"), part(answer.content, "spec")
    try:
        return Lease(
            LeaseSpec(
                str(spec.get("holderIdentity") or ""),
                _number(spec, "leaseDurationSeconds", RELEASED_DURATION_SECONDS),
                _seconds(spec.get("acquireTime")),
                _seconds(spec.get("renewTime")),
                _number(spec, "leaseTransitions", 0),
            ),
            int(str(metadata["resourceVersion"])),
            str(metadata["uid"]),
            nonce="",
        )
    except (KeyError, ValueError):
        return Unavailable(f"the Lease {NAMESPACE}/{NAME}: the API server's answer is no Lease")


def _number(spec: Mapping[str, object], name: str, default: int) -> int:
    value = spec.get(name)
    return default if value is None else int(str(value))


def _micro_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _seconds(value: object) -> float:
    return 0.0 if value is None else datetime.fromisoformat(str(value)).timestamp()
