"""A workload with more or fewer pods."""

from __future__ import annotations

from typing import Any

import pytest

from berth_cli.input_files import InvalidInput
from berth_cli.simulate.what_if.changes import Scale
from berth_cli.simulate.what_if.workload_pods import scale
from tests.unit.cli.simulate.what_if.objects import Object, deployed, pod, pods

TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}}]},
}


def web(replicas: int, namespace: str = "") -> Scale:
    return Scale(namespace, "Deployment", "web", replicas)


def stateful(name: str, on: str = "a") -> Object:
    return pod(name, on, "StatefulSet/db", metadata={"labels": {"statefulset.kubernetes.io/pod-name": name}})


# ------------------------------------------------------------------------------------------------------------------ up
def test_more_pods_are_like_the_newest_and_have_no_node() -> None:
    old, new = deployed("web-5d-a", "n1", created="2026-01-01T00:00:00Z"), deployed("web-5d-b", "n2", created="2026-02")
    new["spec"]["nodeSelector"] = {"disk": "ssd"}
    found = scale([old, new], web(4))
    assert pods(found.objects) == {"web-5d-a": "n1", "web-5d-b": "n2", "web-new-1": "", "web-new-2": ""}
    assert found.created == {("default", "web-new-1"), ("default", "web-new-2")}
    created: Any = found.objects[-1]
    assert created["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert "uid" not in created["metadata"]


def test_a_stateful_set_counts_on() -> None:
    found = scale([stateful("db-0"), stateful("db-2")], Scale("", "StatefulSet", "db", 4))
    assert list(pods(found.objects)) == ["db-0", "db-2", "db-1", "db-3"]
    created: Any = found.objects[-1]
    assert created["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "db-3"


@pytest.mark.parametrize(
    "workload",
    [
        pytest.param({"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": TEMPLATE}}, id="its own"),
        pytest.param(
            {
                "kind": "ReplicaSet",
                "metadata": {
                    "name": "web-5d",
                    "ownerReferences": [{"kind": "Deployment", "name": "web", "controller": True}],
                },
                "spec": {"template": TEMPLATE, "replicas": 0},
            },
            id="of its ReplicaSet",
        ),
    ],
)
def test_a_workload_without_pods_gets_them_from_a_template_with_the_servers_defaults(workload: Object) -> None:
    found = scale([workload], web(2))
    assert len(found.created) == 2
    created: Any = found.objects[-1]
    assert created["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "2"}


# ---------------------------------------------------------------------------------------------------------------- down
@pytest.mark.parametrize(
    ("objects", "stay"),
    [
        pytest.param([deployed("a", "n1"), deployed("b")], ["a"], id="pending first"),
        pytest.param(
            [deployed("a", "n2"), deployed("b", "n1"), deployed("c", "n2")], ["a", "b"], id="then beside others"
        ),
        pytest.param([deployed("a", "n1", created="1"), deployed("b", "n2", created="2")], ["a"], id="then the newest"),
    ],
)
def test_fewer_pods_leave_in_the_order_of_the_controller(objects: list[Object], stay: list[str]) -> None:
    assert list(pods(scale(objects, web(len(stay))).objects)) == stay


def test_a_stateful_set_shrinks_from_its_end() -> None:
    found = scale([stateful("db-10"), stateful("db-9"), stateful("db-0")], Scale("", "StatefulSet", "db", 2))
    assert list(pods(found.objects)) == ["db-9", "db-0"]
    assert found.created == set()


# -------------------------------------------------------------------------------------------------------------- whose
def test_finds_pods_by_the_replica_set_of_the_dump() -> None:
    replica_set: Object = {
        "kind": "ReplicaSet",
        "metadata": {
            "name": "odd",
            "namespace": "default",
            "ownerReferences": [{"kind": "Deployment", "name": "web", "controller": True}],
        },
    }
    found = scale([replica_set, pod("odd-1", "a", "ReplicaSet/odd")], web(0))
    assert pods(found.objects) == {}


def test_leaves_pods_of_others_and_pods_that_leave() -> None:
    others = [
        deployed("api-5d-a", "n1", of="api"),
        pod("web", "n1"),
        {**deployed("done", "n1"), "status": {"phase": "Failed"}},
    ]
    found = scale([*others, deployed("web-5d-a", "n1")], web(0))
    assert list(pods(found.objects)) == ["api-5d-a", "web", "done"]


def test_asks_for_the_namespace_of_a_name_that_is_in_several() -> None:
    objects = [deployed("web-5d-a", "n1"), deployed("web-5d-b", "n1", namespace="shop")]
    with pytest.raises(InvalidInput, match=r"several namespaces \(default, shop\); give NAMESPACE/deployment/web"):
        scale(objects, web(0))
    assert list(pods(scale(objects, web(0, "shop")).objects)) == ["web-5d-a"]


def test_says_what_a_dump_without_the_workload_lacks() -> None:
    with pytest.raises(InvalidInput, match="neither pods nor the pod template of deployment/web; dump it with"):
        scale([pod("web", "n1")], web(3))
