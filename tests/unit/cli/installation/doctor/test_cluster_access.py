"""Access to the cluster as the caller or as another user: whose permissions are reviewed."""

from __future__ import annotations

from typing import Any, cast

import pytest

from berth.cluster.api_server.client import Answer, ApiServer
from berth_cli.installation.doctor.cluster_access import ClusterAccess, Permission, parse_subject
from berth_cli.sources.server import Subject

JANE = Subject("jane", ("developers",))
REVIEWS = "/apis/authorization.k8s.io/v1/"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("jane", Subject("jane", ("system:authenticated",)), id="a user"),
        pytest.param(
            "arn:aws:sts::1:assumed-role/w/s, watchers",
            Subject("arn:aws:sts::1:assumed-role/w/s", ("watchers", "system:authenticated")),
            id="an access entry with its group",
        ),
        pytest.param(
            "system:serviceaccount:kube-system:berth-watcher",
            Subject(
                "system:serviceaccount:kube-system:berth-watcher",
                ("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"),
            ),
            id="a service account with the groups of all and of its namespace",
        ),
    ],
)
def test_subject_includes_implicit_groups(text: str, expected: Subject) -> None:
    assert parse_subject(text) == expected


class Reviews:
    """An API server that allows everything, and keeps the requests."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def request(self, method: str, path: str, *, body: dict[str, Any], **_: object) -> Answer:
        self.requests.append((f"{method} {path}", body))
        return Answer(200, {"status": {"allowed": True}})


@pytest.mark.parametrize(
    ("subject", "path", "spec"),
    [
        pytest.param(None, "selfsubjectaccessreviews", {}, id="the caller"),
        pytest.param(JANE, "subjectaccessreviews", {"user": "jane", "groups": ["developers"]}, id="another user"),
    ],
)
def test_reviews_permissions_of_the_subject(subject: Subject | None, path: str, spec: dict[str, Any]) -> None:
    api = Reviews()
    access = ClusterAccess(cast("ApiServer", api), 1, subject)
    assert access.is_allowed(Permission("create", "pods", subresource="binding"))
    attributes = {"verb": "create", "resource": "pods", "subresource": "binding"}
    [(request, body)] = api.requests
    assert (request, body["spec"]) == (f"POST {REVIEWS}{path}", {**spec, "resourceAttributes": attributes})
