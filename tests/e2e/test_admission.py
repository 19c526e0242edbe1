"""examples/admission on a real API server: the requests that the policies reject or allow, and Berth under them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml

from berth.bind.answer import REASON_NAMESPACE
from berth.bind.protocol import REASON_SCHEDULER
from berth.scheduling.managed_resources.configuration import ManagedResource
from berth.scheduling.managed_resources.pools import annotation_of

from .berth.endpoint import Endpoint
from .berth.identities import counted_resources, serve
from .berth.serve_with_ledger import ledger_in
from .gangs.members import wait_until
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import ControlPlane, RunScheduler
from .kubernetes.kubernetes_api import ApiError, Impersonated, JsonObject, KubernetesApi
from .kubernetes.manifests import apply_manifests, read_manifests
from .kubernetes.scheduler_configuration import filter_prioritize_bind

EXAMPLES = Path(__file__).parents[2] / "examples"
CONFIGURATION = EXAMPLES / "counted-resources" / "configuration.yaml"
ADMISSION = EXAMPLES / "admission"
NODE_NAME = ADMISSION / "node-name.yaml"
# The API server reads its policies once a second. The tests wait until the last policy is in force.
POLICIES = [*sorted(set(ADMISSION.glob("*.yaml")) - {NODE_NAME}), NODE_NAME]
IN_FORCE_SECONDS = 20
CONFIRMED_SECONDS = 15
# A new table gets its ledgers after the API server has reported pods, which an idle cluster does once a minute.
LEDGERS_SECONDS = 180

LICENCE, MEMORY, PERCENT = "example.com/licence", "example.com/gpu-memory", "example.com/gpu-memory-percentage"
DEVICE, SEATS, TOUCHED = annotation_of(MEMORY), "example.com/seats", "berth.dev/touched-at"
OTHER_NAMESPACE = "other"

# RBAC allows this group everything, so that only the policies can reject a request.
ALL_RIGHTS = "system:masters"
USER = Impersonated("alice", (ALL_RIGHTS,))
KUBELET = Impersonated("system:node:node", ("system:nodes", ALL_RIGHTS))
SCHEDULER = Impersonated("system:kube-scheduler", (ALL_RIGHTS,))
REPLICA_SET_CONTROLLER = Impersonated("system:serviceaccount:kube-system:replicaset-controller", (ALL_RIGHTS,))
DAEMON_SET_CONTROLLER = Impersonated("system:serviceaccount:kube-system:daemon-set-controller", (ALL_RIGHTS,))
WATCHER = Impersonated("system:serviceaccount:kube-system:berth-watcher", (ALL_RIGHTS,))
BINDER = Impersonated("system:serviceaccount:kube-system:berth-binder", (ALL_RIGHTS,))
WATCHER_OF_EKS = Impersonated("arn:aws:sts::1:assumed-role/w/1", ("berth-watcher", ALL_RIGHTS))
BINDER_OF_EKS = Impersonated("arn:aws:sts::1:assumed-role/b/1", ("berth-binder", ALL_RIGHTS))

CHANGED = "Berth counts by this annotation, it cannot be changed: "
GIVEN = "only Berth gives a pod this annotation: "
BOUND_WITH = "only Berth binds a pod with this annotation: "
NAMESPACE = "Berth may not bind pods of this namespace"
ON_A_NODE = "a pod with spec.nodeName cannot request what Berth counts: "
ONE_ANNOTATION = "the watcher changes nothing of a pod but berth.dev/touched-at"

_NUMBERS = count()

Action = Callable[[KubernetesApi, "Target"], object]


@dataclass(frozen=True)
class Target:
    """Names of the pods of a case. bound: with a device and seats, on a node; pending: with seats; new: not created."""

    bound: str
    pending: str
    new: str


def _pods(namespace: str = "default") -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def _pod(name: str, *, annotations: Mapping[str, str] | None = None, **spec: Any) -> JsonObject:
    return {
        "metadata": {"name": name, "annotations": dict(annotations or {})},
        "spec": {"containers": [{"name": "app", "image": "app"}], "schedulerName": "absent", **spec},
    }


def _container(**resources: Mapping[str, str]) -> JsonObject:
    return {"name": "app", "image": "app", "resources": resources}


def _creates(api: KubernetesApi, target: Target, **pod: Any) -> None:
    api.create(_pods(), _pod(target.new, **pod))


def creates(**pod: Any) -> Action:
    return partial(_creates, **pod)


def _patches(api: KubernetesApi, target: Target, *, body: JsonObject, subresource: str = "") -> None:
    api.patch(f"{_pods()}/{target.bound}{subresource}", body)


def annotates(annotations: Mapping[str, str | None], subresource: str = "") -> Action:
    """Return an action that sets annotations; None removes an annotation."""
    return partial(_patches, body={"metadata": {"annotations": annotations}}, subresource=subresource)


def patches(body: JsonObject) -> Action:
    return partial(_patches, body=body)


def _binding(pod: str, annotations: Mapping[str, str] | None) -> JsonObject:
    metadata = {"name": pod, "annotations": dict(annotations or {})}
    return {"metadata": metadata, "target": {"kind": "Node", "name": "node"}}


def binds(annotations: Mapping[str, str] | None = None, namespace: str = "default") -> Action:
    return lambda api, target: api.create(
        f"{_pods(namespace)}/{target.pending}/binding", _binding(target.pending, annotations)
    )


def binds_by_the_old_path(annotations: Mapping[str, str] | None = None, namespace: str = "default") -> Action:
    return lambda api, target: api.create(
        f"/api/v1/namespaces/{namespace}/bindings", _binding(target.pending, annotations)
    )


def _refused(id_: str, who: Impersonated, action: Action, message: str) -> object:
    return pytest.param(who, action, message, id=id_)


def _allowed(id_: str, who: Impersonated, action: Action) -> object:
    return pytest.param(who, action, None, id=id_)


UPDATES = [
    _refused("a user moves a device", USER, annotates({DEVICE: "1"}), CHANGED + DEVICE),
    _refused("a user names no device", USER, annotates({DEVICE: "200"}), CHANGED + DEVICE),
    _refused("a user removes a device", USER, annotates({DEVICE: None}), CHANGED + DEVICE),
    _refused("a user adds a device", USER, annotates({"berth.dev/x.y": "0"}), CHANGED + "berth.dev/x.y"),
    _refused("a user lowers a request", USER, annotates({SEATS: "1"}), CHANGED + SEATS),
    _refused("a user removes a request", USER, annotates({SEATS: None}), CHANGED + SEATS),
    _refused("a user touches", USER, annotates({TOUCHED: "now"}), CHANGED + TOUCHED),
    _refused("a user goes through the status", USER, annotates({DEVICE: "1"}, "/status"), CHANGED + DEVICE),
    _refused("a kubelet moves a device", KUBELET, annotates({DEVICE: "1"}, "/status"), CHANGED + DEVICE),
    _refused("bind patches no pod", BINDER, annotates({DEVICE: "1"}), CHANGED + DEVICE),
    _allowed("a user annotates", USER, annotates({"team": "a"})),
    _allowed("a user labels", USER, patches({"metadata": {"labels": {"team": "a"}}})),
    _allowed("a user changes an image", USER, patches({"spec": {"containers": [{"name": "app", "image": "b"}]}})),
    _allowed("a user sends the same device", USER, annotates({DEVICE: "0", SEATS: "2"})),
    _allowed("the watcher touches", WATCHER, annotates({TOUCHED: "now"})),
    _allowed("the watcher of an EKS cluster touches", WATCHER_OF_EKS, annotates({TOUCHED: "now"})),
    _refused("the watcher moves a device", WATCHER, annotates({DEVICE: "1"}, "/status"), CHANGED + DEVICE),
    _refused("the watcher annotates", WATCHER, annotates({"team": "a"}), ONE_ANNOTATION),
    _refused("the watcher labels", WATCHER, patches({"metadata": {"labels": {"a": "b"}}}), ONE_ANNOTATION),
    _refused("the watcher adds a finalizer", WATCHER, patches({"metadata": {"finalizers": ["a/b"]}}), ONE_ANNOTATION),
    _refused(
        "the watcher changes an image",
        WATCHER,
        patches({"spec": {"containers": [{"name": "app", "image": "b"}]}}),
        ONE_ANNOTATION,
    ),
    _refused("EKS' watcher labels", WATCHER_OF_EKS, patches({"metadata": {"labels": {"a": "b"}}}), ONE_ANNOTATION),
]

SIDECAR = [{**_container(limits={LICENCE: "1"}), "name": "sidecar", "restartPolicy": "Always"}]
NEW_PODS = [
    _allowed("a plain pod", USER, creates()),
    _allowed("a request by annotation", USER, creates(annotations={SEATS: "2"})),
    _allowed("a licence, for a scheduler to place", USER, creates(containers=[_container(limits={LICENCE: "1"})])),
    _allowed("a second scheduler", REPLICA_SET_CONTROLLER, creates(annotations={"berth.dev/configuration": "1"})),
    _refused("a user gives a device", USER, creates(annotations={DEVICE: "0"}), GIVEN + DEVICE),
    _refused("a template gives one", REPLICA_SET_CONTROLLER, creates(annotations={DEVICE: "0"}), GIVEN + DEVICE),
    _refused("bind creates no pod", BINDER, creates(annotations={DEVICE: "0"}), GIVEN + DEVICE),
    _refused("a touch is no device", USER, creates(annotations={TOUCHED: "0"}), GIVEN + TOUCHED),
]

ON_NODES = [
    _allowed("nothing counted", USER, creates(nodeName="node")),
    _refused(
        "a limit", USER, creates(nodeName="node", containers=[_container(limits={LICENCE: "1"})]), ON_A_NODE + LICENCE
    ),
    _refused(
        "10^15 of them",
        USER,
        creates(nodeName="node", containers=[_container(limits={LICENCE: "1000000000000000"})]),
        ON_A_NODE + LICENCE,
    ),
    _refused(
        "per cent", USER, creates(nodeName="node", containers=[_container(limits={PERCENT: "1"})]), ON_A_NODE + PERCENT
    ),
    _refused("a sidecar", USER, creates(nodeName="node", initContainers=SIDECAR), ON_A_NODE + LICENCE),
    _refused("an annotation", USER, creates(nodeName="node", annotations={SEATS: "1"}), ON_A_NODE + SEATS),
    _refused(
        "a DaemonSet's template",
        DAEMON_SET_CONTROLLER,
        creates(nodeName="node", containers=[_container(limits={LICENCE: "1"})]),
        ON_A_NODE + LICENCE,
    ),
    _allowed(
        "a static pod's mirror", KUBELET, creates(nodeName="node", containers=[_container(limits={LICENCE: "1"})])
    ),
]

BINDINGS = [
    _allowed("another scheduler", SCHEDULER, binds()),
    _allowed("another scheduler in another namespace", SCHEDULER, binds(namespace=OTHER_NAMESPACE)),
    _refused("another scheduler gives a device", SCHEDULER, binds({DEVICE: "0"}), BOUND_WITH + DEVICE),
    _refused("another scheduler lowers a request", SCHEDULER, binds({SEATS: "0"}), BOUND_WITH + SEATS),
    _refused("the old path gives a device", USER, binds_by_the_old_path({DEVICE: "0"}), BOUND_WITH + DEVICE),
    _allowed("bind gives a device", BINDER, binds({DEVICE: "0"})),
    _allowed("bind in an EKS cluster gives a device", BINDER_OF_EKS, binds({DEVICE: "0"})),
    _refused("bind lowers a request", BINDER, binds({SEATS: "0"}), BOUND_WITH + SEATS),
    _refused("bind in another namespace", BINDER, binds(namespace=OTHER_NAMESPACE), NAMESPACE),
    _refused("bind of an EKS cluster there", BINDER_OF_EKS, binds(namespace=OTHER_NAMESPACE), NAMESPACE),
    _refused("bind there by the old path", BINDER, binds_by_the_old_path(namespace=OTHER_NAMESPACE), NAMESPACE),
]


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Yield a separate cluster with the rights and the policies of the examples."""
    with ControlPlane(tmp_path_factory.mktemp("control-plane")) as control_plane, counted_resources(control_plane):
        api = KubernetesApi(control_plane.credentials())
        api.create("/api/v1/namespaces", {"metadata": {"name": OTHER_NAMESPACE}})
        for file in POLICIES:
            apply_manifests(api, read_manifests(file))
        _wait_until_in_force(api)
        yield control_plane


def _wait_until_in_force(api: KubernetesApi) -> None:
    until = time.monotonic() + IN_FORCE_SECONDS
    while _is_created(api, _pod(f"in-force-{next(_NUMBERS)}", nodeName="node", annotations={SEATS: "1"})):
        assert time.monotonic() < until, "the policies are not in force"
        time.sleep(0.5)
    api.delete(_pods(), {"gracePeriodSeconds": "0"})


def _is_created(api: KubernetesApi, pod: JsonObject) -> bool:
    try:
        api.create(_pods(), pod)
    except ApiError as error:
        if error.status != 403:
            raise
        return False
    return True


@pytest.fixture
def target(control_plane: ControlPlane) -> Iterator[Target]:
    administrator = KubernetesApi(control_plane.credentials())
    number = next(_NUMBERS)
    target = Target(f"bound-{number}", f"pending-{number}", f"new-{number}")
    administrator.create(_pods(), _pod(target.bound, annotations={SEATS: "2"}))
    bind = KubernetesApi(control_plane.credentials(), BINDER)
    bind.create(f"{_pods()}/{target.bound}/binding", _binding(target.bound, {DEVICE: "0"}))
    for namespace in ("default", OTHER_NAMESPACE):
        administrator.create(_pods(namespace), _pod(target.pending, annotations={SEATS: "2"}))
    yield target
    for namespace in ("default", OTHER_NAMESPACE):
        administrator.delete(_pods(namespace), {"gracePeriodSeconds": "0"})


@pytest.mark.parametrize(("who", "action", "refusal"), [*UPDATES, *NEW_PODS, *ON_NODES, *BINDINGS])
def test_admission_policies_reject_forbidden_requests_and_allow_all_others(
    control_plane: ControlPlane, target: Target, who: Impersonated, action: Action, refusal: str | None
) -> None:
    api = KubernetesApi(control_plane.credentials(), who)
    if refusal is None:
        action(api, target)
        return
    with pytest.raises(ApiError) as error:
        action(api, target)
    assert error.value.status == 403
    assert refusal in str(error.value)
    assert _annotations(control_plane, target.bound) == {DEVICE: "0", SEATS: "2"}


def _annotations(control_plane: ControlPlane, pod: str) -> object:
    return KubernetesApi(control_plane.credentials()).get(f"{_pods()}/{pod}")["metadata"]["annotations"]


def test_admission_policies_use_the_names_of_the_example_configuration() -> None:
    resources = [
        ManagedResource.model_validate(each)
        for each in yaml.safe_load(CONFIGURATION.read_text())["managedResources"]
    ]  # fmt: skip
    variables = read_manifests(NODE_NAME)[0]["spec"]["variables"]
    [counted] = [each["expression"] for each in variables if each["name"] == "counted"]
    assert yaml.safe_load(counted) == [name for resource in resources for name in resource.names]


def test_berth_reserves_binds_and_confirms_its_pods_under_all_policies(
    control_plane: ControlPlane, cluster: Cluster, run_scheduler: RunScheduler, tmp_path: Path
) -> None:
    file = tmp_path / "ledger.json"
    command = (sys.executable, "-m", "tests.e2e.berth.serve_with_ledger", file)
    document = f"{CONFIGURATION.read_text()}\nbind: {{namespaces: [default]}}\n"
    with serve(control_plane, tmp_path, document=document, command=command) as berth:
        node = cluster.create_node("gpu", {"nvidia.com/gpu.count": "1", "nvidia.com/gpu.memory": "8000"})
        wait_until("the node has a ledger", lambda: node in ledger_in(file), LEDGERS_SECONDS)
        extender = filter_prioritize_bind(berth.url_prefix)
        run_scheduler(replace(extender, preempt_verb=None, managed_resources=(MEMORY,)))
        pods = [cluster.create_pod(f"pod-{number}", extended={MEMORY: "3000"}) for number in range(2)]
        for pod in pods:
            assert cluster.wait_until_assigned(pod) == node
            assert cluster.object(pod)["metadata"]["annotations"][DEVICE] == "0"
        # A caller with a client credential cannot bind pods of another scheduler or namespace.
        others = [
            (cluster.create_pod("other", scheduler="absent", extended={MEMORY: "1"}), REASON_SCHEDULER),
            (cluster.create_pod("agent", namespace="kube-system", scheduler="default-scheduler"), REASON_NAMESPACE),
        ]
        for pod, reason in others:
            request = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node}
            answer = Endpoint(berth.url_prefix).post("bind", json.dumps(request).encode())
            assert answer.json() == {"Error": reason}
        # An edit of the device annotation changes neither the pod nor its reservation.
        with pytest.raises(ApiError, match="cannot be changed"):
            KubernetesApi(control_plane.credentials()).patch(
                pods[0].path, {"metadata": {"annotations": {DEVICE: "200"}}}
            )
        confirmed = {
            f"default/{pod.name}": {"state": "bound", "shares": {f"{MEMORY}#0": 3000}} for pod in pods
        }  # fmt: skip
        wait_until(
            "the watcher has confirmed both", lambda: ledger_in(file)[node]["entries"] == confirmed, CONFIRMED_SECONDS
        )
