"""Documents of the tests, and the NodePools that `berth config nodepool` prints for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml
from click.testing import CliRunner

from berth_cli.main import main
from tests.e2e.kubernetes.kubernetes_api import JsonObject

from .karpenter import GPU, GPU_TYPE, NODE_CLASS, PLAIN_TYPE

_KIND = "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n"
LABELED = f"{_KIND}profile: label-priority\n"
LICENCE, LICENCES = "example.com/licence", "example.com/licences"
COUNTED = (
    f"{_KIND}profile: managed-resources\nmanagedResources: [{{name: {LICENCE}, capacity: {{nodeLabel: {LICENCES}}}}}]\n"
)
SEATS = "example.com/seats"
FLOATING = (
    f"{_KIND}profile: managed-resources\nmanagedResources:\n"
    f"  - {{name: example.com/seat, capacity: {{value: 1, scope: cluster}}, requests: {{podAnnotation: {SEATS}}}}}\n"
)
SEGREGATED = f"{_KIND}profile: resource-segregation\n"
GANGS = f"{LABELED}gangs: {{enabled: true}}\n"


def printed(document: str, value: str = "1", *, disruption: Mapping[str, Any] | None = None) -> list[JsonObject]:
    """Return the command's output, with this value for its placeholders, the provider's NodeClass, and an instance type
    for each pool. disruption: replaces the printed disruption."""
    done = CliRunner().invoke(main, ["config", "nodepool", "-", "--name=berth"], input=document)
    assert done.exit_code == 0, done.output
    found = list(yaml.safe_load_all(done.stdout))
    for each in found:
        if each["kind"] == "NodeOverlay":
            each["spec"]["capacity"] = dict.fromkeys(each["spec"]["capacity"], value)
            continue
        template = each["spec"]["template"]
        template["metadata"] = {key: dict.fromkeys(stated, value) for key, stated in template["metadata"].items()}
        of_gpus = any(taint["key"] == GPU for taint in template["spec"].get("taints", ()))
        one = {"operator": "In", "values": [GPU_TYPE if of_gpus else PLAIN_TYPE]}
        template["spec"]["requirements"] = [{"key": "node.kubernetes.io/instance-type", **one}]
        template["spec"]["nodeClassRef"] = NODE_CLASS
        if disruption is not None:
            each["spec"]["disruption"] = {"budgets": [{"nodes": "100%"}], **disruption}
    return found


def without_labels(pool: JsonObject, name: str) -> JsonObject:
    """Return a NodePool without the labels of the policy."""
    template = {**pool["spec"]["template"], "metadata": {}}
    return {**pool, "metadata": {"name": name}, "spec": {**pool["spec"], "template": template}}
