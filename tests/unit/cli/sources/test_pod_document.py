"""The pod of a decision as an object, from which the same pod is read again."""

from __future__ import annotations

from typing import Any

import pytest

from berth.scheduling.objects import Pod, read_pod
from berth_cli.sources.pod_document import pod_document
from tests.builders.gangs import member
from tests.builders.pods import pod_with


def read(obj: Any) -> Pod:
    found = read_pod(obj)
    assert isinstance(found, Pod)
    return found


SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(
            read(
                pod_with(
                    "p",
                    labels={"app": "web"},
                    requests={"cpu": "250m"},
                    nodeSelector={"disk": "ssd"},
                    tolerations=[{"key": "dedicated", "operator": "Exists"}],
                    topologySpreadConstraints=[SPREAD],
                )
            ),
            id="fields that rules read",
        ),
        pytest.param(read(pod_with("p", nodeName="n1", metadata={"annotations": {"a": "b"}})), id="on a node"),
        pytest.param(member("p", "train", 2), id="a member of a gang, with its age"),
    ],
)
def test_pod_can_be_read_back_from_its_document(before: Pod) -> None:
    again = read(pod_document(before))
    names = ("name", "uid", "labels", "annotations", "spec", "node_name")
    assert [getattr(again, name) for name in names] == [getattr(before, name) for name in names]
