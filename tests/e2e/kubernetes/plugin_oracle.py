"""Runs kube-scheduler's own filter plugins on a final state, with the oracle of tests/parity."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import orjson
import pytest

from tests.parity.responder import Case, Responder

from .control_plane import KUBERNETES
from .kubernetes_api import JsonObject

BINARY = Path(__file__).parents[3] / ".build" / f"parity-oracle-{KUBERNETES}"
SUCCESS = "Success"


def rejected_placements(
    nodes: Sequence[JsonObject], pods: Sequence[JsonObject], plugins: Collection[str]
) -> Iterator[str]:
    """Return the placed pods whose node one of these plugins rejects if the pod comes last: name, node and reasons."""
    if not BINARY.exists():
        pytest.fail(f"{BINARY.name} is not built: run `make .build/{BINARY.name}`")
    with Responder([str(BINARY)]) as oracle:
        answers = oracle.answer_all([orjson.dumps(_case(nodes, pods, pod)) for pod in pods])
    for pod, answer in zip(pods, answers, strict=True):
        assert answer["error"] is None, answer["error"]
        node = pod["spec"]["nodeName"]
        for plugin in plugins:
            verdict = answer["verdicts"][node]["all"][plugin]
            if verdict["code"] != SUCCESS:
                yield f"{pod['metadata']['name']} on {node}: {plugin}: {verdict['reasons']}"


def _case(nodes: Sequence[JsonObject], pods: Sequence[JsonObject], last: JsonObject) -> Case:
    others = [{"kind": "Pod", **each} for each in pods if each is not last]
    spec = {key: value for key, value in last["spec"].items() if key != "nodeName"}
    namespaces = [
        {"kind": "Namespace", "metadata": {"name": name}} for name in {each["metadata"]["namespace"] for each in pods}
    ]
    return {
        "objects": [*({"kind": "Node", **each} for each in nodes), *namespaces, *others],
        "pod": {**last, "spec": spec, "status": {}},
        "args": {},
    }
