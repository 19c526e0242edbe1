"""Events on pods in the Kubernetes API. Needs `create` on events of events.k8s.io."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus

from berth.cluster.api_server.client import JSON, Answer, ApiServer, ApiServerUnreachable
from berth.cluster.watch.resources import read_status
from berth.upkeep.pod_events import PodEvent, PodEventWriter

CONTROLLER = "berth.dev/watcher"
ACTION = "Reconciling"
TIMEOUT_SECONDS = 2.0
_TERMINATING = "NamespaceTerminating"


class KubernetesPodEvents(PodEventWriter):
    """Writes each event with one request."""

    def __init__(self, api: ApiServer, instance: str) -> None:
        """Prepare the writer. instance: the name of the reporter, at most 128 characters."""
        self._api = api
        self._instance = instance

    def write(self, event: PodEvent, name: str, at: float) -> str:
        path = f"/apis/events.k8s.io/v1/namespaces/{event.namespace}/events"
        body = self._object(event, name, datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
        try:
            return _cause(self._api.request("POST", path, timeout=TIMEOUT_SECONDS, body=body, content_type=JSON))
        except ApiServerUnreachable as error:
            return str(error)

    def _object(self, event: PodEvent, name: str, at: str) -> dict[str, object]:
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": event.namespace},
            "eventTime": at,
            "reportingController": CONTROLLER,
            "reportingInstance": self._instance,
            "action": ACTION,
            "reason": event.reason.value,
            "type": "Warning",
            "note": event.note,
            "regarding": {
                "apiVersion": "v1",
                "kind": "Pod",
                "namespace": event.namespace,
                "name": event.name,
                "uid": event.uid,
            },
        }


def _cause(answer: Answer) -> str:
    # The API server answers 403 for a namespace that is being deleted.
    is_forbidden = answer.status == HTTPStatus.FORBIDDEN
    is_terminating = is_forbidden and _TERMINATING in read_status(answer.content, answer.status).causes
    if answer.ok or answer.status == HTTPStatus.NOT_FOUND or is_terminating:
        return ""
    return answer.message + (
        "; give the watcher's user the verb create on events.events.k8s.io" if is_forbidden else ""
    )
