"""examples/rbac.yaml on a real API server: Berth uses every right in it, and the server rejects all other requests."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from berth.cluster.api_server import kubeconfig
from berth.cluster.api_server.client import ApiServer
from berth.cluster.kubernetes_pod_events import KubernetesPodEvents
from berth.cluster.kubernetes_pods import KubernetesReservedPods
from berth.pods import FoundPod, PodTouched
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.pod_events import PodEvent, PodEventReason

from .berth.identities import (
    BINDER,
    COUNTED_RESOURCES,
    NAMESPACE,
    RBAC,
    WATCHER,
    Identities,
    counted_resources,
    identities,
    serve,
)
from .berth.label_priority import NO_LABEL, none_available, priority
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import EKS_BINDER, EKS_WATCHER, ControlPlane, RunScheduler
from .kubernetes.kubernetes_api import ApiError, JsonObject, KubernetesApi
from .kubernetes.manifests import read_manifests
from .kubernetes.scheduler_configuration import filter_prioritize_bind

LICENCE = "example.com/licence"
ALL_FEATURES = f"""\
profile: all-features
definitions:
  all-features:
    plugins:
      enabled: [{{name: NodePriorityLabel}}, {{name: PodTopologySpread}}, {{name: ManagedResources}}]
managedResources: [{{name: {LICENCE}}}]
"""
"""A configuration that needs every documented right."""

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
EVENTS = "/api/v1/namespaces/default/events"
PODS = "/api/v1/namespaces/default/pods"
RBAC_SECONDS = 20


@dataclass(frozen=True, order=True)
class Right:
    """A verb on a resource or subresource. name: the only object that it applies to, if any."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    def review(self) -> JsonObject:
        resource, _, subresource = self.resource.partition("/")
        attributes = {
            "verb": self.verb,
            "group": self.group,
            "resource": resource,
            "subresource": subresource,
            "namespace": self.namespace,
            "name": self.name,
        }
        spec = {"resourceAttributes": {key: value for key, value in attributes.items() if value}}
        return {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}


def documented_rights(user: str, *files: Path) -> set[Right]:
    """Return the rights that the files grant to the user's service account."""
    documents = [document for file in files for document in read_manifests(file)]
    granted = {
        (document["roleRef"]["kind"], document["roleRef"]["name"])
        for document in documents
        if document["kind"].endswith("RoleBinding")
        and any(subject["kind"] == "ServiceAccount" and subject["name"] == user for subject in document["subjects"])
    }
    return {
        Right(verb, group, resource, document["metadata"].get("namespace", ""), name)
        for document in documents
        if (document["kind"], document["metadata"]["name"]) in granted
        for rule in document["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
    }


WATCHER_RIGHTS, BINDER_RIGHTS = documented_rights(WATCHER, RBAC), documented_rights(BINDER, RBAC)
COUNTED_RIGHTS = documented_rights(WATCHER, COUNTED_RESOURCES)
COUNTED_BINDER_RIGHTS = documented_rights(BINDER, COUNTED_RESOURCES)


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("control-plane"), audited=True) as control_plane:
        yield control_plane


@pytest.fixture(scope="module")
def users(control_plane: ControlPlane) -> Identities:
    return identities(control_plane)


def _exercised_rights(control_plane: ControlPlane, user: str) -> tuple[set[Right], list[str]]:
    """Return the rights that a user exercised, with object names if rules have them, and its rejected requests."""
    rights, rejected = set(), []
    for event in control_plane.audit():
        found = event.get("objectRef", {})
        if event["user"]["username"] != f"system:serviceaccount:{NAMESPACE}:{user}" or "resource" not in found:
            continue
        resource = "/".join(part for part in (found["resource"], found.get("subresource", "")) if part)
        if event["annotations"]["authorization.k8s.io/decision"] != "allow":
            rejected.append(f"{event['verb']} {resource}")
        named = resource in ("namespaces", "csistoragecapacities", "leases") and event["verb"] in ("get", "patch")
        namespace = NAMESPACE if resource in ("csistoragecapacities", "leases") else ""
        rights.add(
            Right(event["verb"], found.get("apiGroup", ""), resource, namespace, found["name"]) if named
            else Right(event["verb"], found.get("apiGroup", ""), resource)
        )  # fmt: skip
    return rights, rejected


def test_berth_uses_exactly_the_documented_permissions(
    control_plane: ControlPlane, cluster: Cluster, run_scheduler: RunScheduler, tmp_path: Path
) -> None:
    with counted_resources(control_plane), serve(control_plane, tmp_path, document=ALL_FEATURES) as berth:
        node = cluster.create_node("node", extended={LICENCE: "1"})
        berth.wait_for_ledger(node)
        run_scheduler(filter_prioritize_bind(berth.url_prefix))
        pod = cluster.create_pod("web", extended={LICENCE: "1"})
        cluster.wait_for_failed_scheduling(pod, none_available({NO_LABEL: 1}))
        cluster.relabel(node, priority(10))
        assert cluster.wait_until_assigned(pod) == node
        # The watcher touches a pod whose bind has failed.
        watcher = kubeconfig.from_file(control_plane.kubeconfig(identities(control_plane).watcher))
        reserved = KubernetesReservedPods(ApiServer(watcher, time.time), time.time)
        uid = KubernetesApi(control_plane.credentials()).get(f"{PODS}/{pod.name}")["metadata"]["uid"]
        found = reserved.find(PodKey("default", pod.name, uid))
        assert isinstance(found, FoundPod)
        assert isinstance(reserved.touch(PodKey("default", pod.name, uid), found.resource_version), PodTouched)
        # It writes an event on a pod when something is wrong with the pod.
        events = KubernetesPodEvents(ApiServer(watcher, time.time), "watcher_test")
        event = PodEvent("default", pod.name, uid, PodEventReason.POD_REDUCED, "note")
        assert events.write(event, f"{pod.name}.1", time.time()) == ""
        found_events = KubernetesApi(control_plane.credentials()).get(EVENTS)["items"]
        [written] = [each for each in found_events if each["metadata"]["name"] == f"{pod.name}.1"]
        assert written["reason"] == "PodReduced"

    # The API of PodGroups is not served here, so the watcher does not watch them.
    used = {right for right in WATCHER_RIGHTS | COUNTED_RIGHTS if right.resource != "podgroups"}
    assert _exercised_rights(control_plane, WATCHER) == (used, [])
    assert _exercised_rights(control_plane, BINDER) == (BINDER_RIGHTS | COUNTED_BINDER_RIGHTS, [])


def _allowed(api: KubernetesApi, right: Right) -> bool:
    return api.create(REVIEWS, right.review())["status"]["allowed"] is True


@pytest.mark.parametrize("identity", ["service account", "group"])
@pytest.mark.parametrize(
    ("user", "rights"),
    [pytest.param(WATCHER, WATCHER_RIGHTS, id="watcher"), pytest.param(BINDER, BINDER_RIGHTS, id="binder")],
)
def test_service_account_and_eks_group_have_the_documented_permissions(
    control_plane: ControlPlane, users: Identities, identity: str, user: str, rights: set[Right]
) -> None:
    accounts = {WATCHER: users.watcher, BINDER: users.binder}
    eks = {WATCHER: EKS_WATCHER, BINDER: EKS_BINDER}
    api = KubernetesApi(accounts[user] if identity == "service account" else control_plane.credentials(eks[user]))
    others = (WATCHER_RIGHTS | BINDER_RIGHTS | COUNTED_RIGHTS) - rights
    deadline = time.monotonic() + RBAC_SECONDS
    while (found := {right for right in rights | others if _allowed(api, right)}) != rights:
        assert time.monotonic() < deadline, found ^ rights


POD_RIGHTS = (
    Right("create", "", "pods", "default"),
    Right("delete", "", "pods", "default", "x"),
    Right("patch", "", "pods", "default", "x"),
    Right("patch", "", "pods/status", "default", "x"),
    Right("create", "", "pods/eviction", "default", "x"),
    Right("create", "", "pods/exec", "default", "x"),
    Right("get", "", "pods/log", "default", "x"),
)
OTHER_RIGHTS = (
    Right("get", "", "secrets", NAMESPACE, "x"),
    Right("list", "", "secrets"),
    Right("list", "", "configmaps"),
    Right("patch", "", "nodes", name="x"),
    Right("delete", "", "nodes", name="x"),
    Right("get", "", "namespaces", name="default"),
    Right("create", "", "serviceaccounts/token", NAMESPACE, BINDER),
    Right("create", "rbac.authorization.k8s.io", "clusterrolebindings"),
    Right("create", "storage.k8s.io", "csistoragecapacities", NAMESPACE),
    Right("delete", "storage.k8s.io", "csistoragecapacities", NAMESPACE, "berth-wake"),
    Right("patch", "storage.k8s.io", "csistoragecapacities", NAMESPACE, "another"),
)
OF_WATCHER = (
    Right("list", "", "pods"),
    Right("watch", "", "pods"),
    Right("list", "", "nodes"),
    Right("get", "", "namespaces", name="kube-system"),
    Right("patch", "storage.k8s.io", "csistoragecapacities", NAMESPACE, "berth-wake"),
)
OF_BINDER = (Right("get", "", "pods", "default", "x"), Right("create", "", "pods/binding", "default", "x"))


def _request(api: KubernetesApi, right: Right) -> object:
    resource, _, subresource = right.resource.partition("/")
    group = f"/apis/{right.group}/v1" if right.group else "/api/v1"
    namespace = f"namespaces/{right.namespace}" if right.namespace else ""
    path = "/".join(part for part in (group, namespace, resource, right.name, subresource) if part)
    match right.verb:
        case "get" | "list":
            return api.get(path)
        case "watch":
            return next(api.watch(path, {"resourceVersion": "0"}, seconds=1))
        case "delete":
            return api.delete(path)
        case "patch":
            return api.patch(path, {})
    return api.create(path, {"metadata": {"name": "x"}})


def _assert_rejected(api: KubernetesApi, right: Right) -> None:
    assert not _allowed(api, right)
    with pytest.raises(ApiError) as rejection:
        _request(api, right)
    assert rejection.value.status == 403, rejection.value


@pytest.mark.parametrize("right", [*POD_RIGHTS, *OTHER_RIGHTS, *OF_WATCHER], ids=str)
def test_api_server_rejects_requests_beyond_the_permissions_of_bind(users: Identities, right: Right) -> None:
    _assert_rejected(KubernetesApi(users.binder), right)


@pytest.mark.parametrize("right", [*POD_RIGHTS, *OTHER_RIGHTS, *OF_BINDER], ids=str)
def test_api_server_rejects_requests_beyond_the_permissions_of_the_watcher(users: Identities, right: Right) -> None:
    _assert_rejected(KubernetesApi(users.watcher), right)


def test_watcher_may_never_create_or_delete_pods(control_plane: ControlPlane, users: Identities) -> None:
    api = KubernetesApi(users.watcher)
    with counted_resources(control_plane):
        deadline = time.monotonic() + RBAC_SECONDS
        while not all(_allowed(api, right) for right in COUNTED_RIGHTS):
            assert time.monotonic() < deadline
        for right in (Right("create", "", "pods", "default"), Right("delete", "", "pods", "default", "x")):
            assert not _allowed(api, right)
        assert not _allowed(KubernetesApi(users.binder), Right("patch", "", "pods", "default", "x"))
