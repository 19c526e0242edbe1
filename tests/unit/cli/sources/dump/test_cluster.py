"""Reading the cluster of a dump: the same for the commands that place pods and for those that follow the file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from berth.cluster.dump_cluster import DumpCluster
from berth_cli.sources.dump.cluster import read_cluster, read_dump
from berth_cli.terminal.input_files import InvalidInput

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
            f"items:\n- {NODE}\n- {RUNNING}\n- {RUNNING}\n- {WAITING}\n",
            {"Pod that occurs again": 1},
            id="a pod twice",
        ),
        pytest.param(
            f"items:\n- {NODE}\n- {RUNNING}\n- {WAITING}\n- {{kind: Secret}}\n",
            {"Secret that scheduling does not use": 1},
            id="another kind",
        ),
    ],
)
def test_every_command_reads_the_same_cluster(
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
