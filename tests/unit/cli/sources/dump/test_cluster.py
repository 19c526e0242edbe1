"""Reading the cluster of a dump: the same for the commands that place pods and for those that follow the file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from berth.cluster.dump_cluster import DumpCluster
from berth.scheduling.managed_resources.counting import Counting
from berth_cli.sources.dump.cluster import read_cluster, read_dump, trim
from berth_cli.sources.dump.objects import POD_UNREADABLE, read_objects
from berth_cli.terminal.input_files import InvalidInput
from tests.builders.counted import counting
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with

NODE = "{kind: Node, metadata: {name: n1}, status: {capacity: {cpu: 4}}}"
RUNNING = "{kind: Pod, metadata: {name: run, uid: u}, spec: {nodeName: n1, containers: []}}"
WAITING = "{kind: Pod, metadata: {name: wait}, spec: {}}"


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        pytest.param(f"items: [{NODE}, {RUNNING}, {WAITING}]", {}, id="one list"),
        pytest.param(f"items: [{{items: [{NODE}]}}, {{items: [{RUNNING}, {WAITING}]}}]", {}, id="nested lists"),
        pytest.param(f"{NODE}\n---\nitems:\n- {RUNNING}\n- {WAITING}\n", {}, id="a list as the second document"),
        pytest.param(
            f"items:\n- {NODE}\n- {RUNNING}\n- {RUNNING}\n- {WAITING}\n", {"Pod that occurs again": 1}, id="a pod twice"
        ),
        pytest.param(
            f"items:\n- {NODE}\n- {RUNNING}\n- {WAITING}\n- {{kind: Secret}}\n",
            {"Secret that scheduling does not use": 1},
            id="another kind",
        ),
    ],
)
def test_every_command_reads_a_dump_as_the_same_cluster(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, left_out: dict[str, int]
) -> None:
    path = tmp_path / "dump.yaml"
    path.write_text(text)
    found = read_cluster(read_dump(path), "dump")
    node = found.snapshot.nodes["n1"]
    assert (node.allocatable, [pod.uid for pod in node.pods]) == ({"cpu": 4000}, ["u"])
    assert [pod.uid for pod in found.pods] == ["default.wait"]
    assert found.left_out == Counter(left_out)

    followed, _ = DumpCluster(path).read()
    assert followed.pods.keys() == {("default", "run"), ("default", "wait")}
    assert [f"{count} {reason}" for reason, count in left_out.items()] == [
        message.partition("left out are ")[2] for message in caplog.messages
    ]


def test_error_names_the_malformed_file(tmp_path: Path) -> None:
    path = tmp_path / "dump.yaml"
    path.write_text("words")
    with pytest.raises(InvalidInput, match=r"dump.yaml contains 'words' instead of a Kubernetes object"):
        list(read_dump(path))


SEATS = counting({"name": "example.com/seat", "capacity": {"value": 12, "scope": "cluster"}})
REJECTED = "0/1 nodes are available: 1 {}. preemption: 0/1 nodes are available: 1 No preemption victims found."


@pytest.mark.parametrize(
    ("status", "message", "counted", "waits"),
    [
        pytest.param(
            "False", REJECTED.format("Insufficient example.com/seat in the cluster"), SEATS, True, id="too little left"
        ),
        pytest.param(
            "False",
            REJECTED.format("example.com/seat in the cluster is kept for waiting pods of a higher priority"),
            SEATS,
            True,
            id="kept for another pod",
        ),
        pytest.param("False", REJECTED.format("gang waits for a floating resource"), SEATS, True, id="member of gang"),
        pytest.param("False", REJECTED.format("Insufficient cpu"), SEATS, False, id="another reason"),
        pytest.param(
            "False",
            REJECTED.format("the pod requests more example.com/seat in the cluster than there is"),
            SEATS,
            False,
            id="a request above the capacity",
        ),
        pytest.param(
            "True", REJECTED.format("Insufficient example.com/seat in the cluster"), SEATS, False, id="not rejected"
        ),
        pytest.param("False", None, SEATS, False, id="no message"),
        pytest.param(
            "False",
            REJECTED.format("Insufficient example.com/seat in the cluster"),
            counting(),
            False,
            id="no floating pools",
        ),
    ],
)
def test_condition_decides_whether_a_pod_waits_for_a_pool(
    status: str, message: object, counted: Counting, waits: bool
) -> None:
    condition = {"type": "PodScheduled", "status": status, "message": message}
    rejected = pod_with("p", status={"conditions": [condition]})
    # Trimming an object again must not change the result.
    objects = [trim(trim(each, counted), counted) for each in (node_with("a"), rejected, pod_with("new"))]
    found = read_cluster(objects, "dump")
    assert [pod.waits_for_pool for pod in found.pods] == [waits, False]
    assert [pod.name for pod in found.snapshot.unbound.values()] == (["p"] if waits else [])


@pytest.mark.parametrize(("phase", "defect"), [("Running", POD_UNREADABLE), ("Failed", None)])
def test_unreadable_pod_makes_its_node_defective_until_it_has_ended(phase: str, defect: str | None) -> None:
    broken = pod_with("o", requests={"cpu": "much"}, nodeName="n") | {"status": {"phase": phase}}
    [found] = read_objects([node_with("n"), broken]).nodes
    assert found.defect == defect
