"""Karpenter's NodePools and NodeOverlays: prints the objects that a policy needs, and finds why the policy rejects the
nodes of a pool. Karpenter adds nodes by its own simulation, which does not call Berth. So its objects must state the
labels and amounts that the policy reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.profile import AnyFilter
from berth.scheduling.managed_resources.configuration import NoAmount, capacity_of
from berth.scheduling.managed_resources.floating import insufficient
from berth.scheduling.objects import NodeInfo, Pod, label_set, pod_spec
from berth.scheduling.plugins.node_priority_label import NodePriorityLabel
from berth.scheduling.plugins.resource_segregation import ResourceSegregation
from berth_cli.installation.extenders import managed_resources_of
from berth_cli.installation.kube_scheduler_configuration import yaml_text

NODE_POOLS = "/apis/karpenter.sh/v1/nodepools"
NODE_OVERLAYS = "/apis/karpenter.sh/v1alpha1/nodeoverlays"

_PROVIDERS = ("kubernetes.io", "k8s.io", "k8s.aws", "karpenter.sh", "amazonaws.com", "cloud.google.com", "azure.com")

_ANY_POD = Pod("any", "any", label_set("default", {}), pod_spec({}))

PLACEHOLDER = "1"
COMMENTS = {
    "labels": "Replace each value of 1 by what a node of this pool has.",
    "requirements": "Limit the pool to instance types that fit.",
    "nodeClassRef": "With EKS Auto Mode: group eks.amazonaws.com, kind NodeClass.",
    "taints": "Pods that request the resource must tolerate it. All other pools must have no such instance types.",
    "consolidateAfter": "Longer than a gang waits for its nodes.",
    "capacity": "Karpenter needs the feature gate NodeOverlay, and adds no node for these resources without it.",
}


def is_of_provider(label: str) -> bool:
    """Return whether the cloud provider or the kubelet sets this label, such as the zone."""
    return label.rpartition("/")[0].endswith(_PROVIDERS)


def manifests(configuration: BerthConfiguration, name: str) -> list[dict[str, Any]]:
    """Return the NodePools for this policy, and a NodeOverlay if containers request counted resources of nodes."""
    sources = [source for each in configuration.managed_resources for source in each.sources]
    labels = [plugin.label for plugin in _filters(configuration) if isinstance(plugin, NodePriorityLabel)]
    labels += [each.node_label for each in sources if each.node_label is not None]
    labels += sorted(configuration.counting.floating.label_keys)
    stated = {
        "labels": {label: PLACEHOLDER for label in labels if not is_of_provider(label)},
        "annotations": dict.fromkeys(sorted(configuration.counting.node_annotations), PLACEHOLDER),
    }
    metadata = {key: values for key, values in stated.items() if values}
    reserved = {
        resource
        for plugin in _filters(configuration)
        if isinstance(plugin, ResourceSegregation) and plugin.required
        for resource in plugin.resources
    }
    pools = [_node_pool(name, metadata)]
    pools += [_node_pool(f"{name}-{each.replace('/', '-').lower()}", metadata, each) for each in sorted(reserved)]
    # More nodes do not increase a floating resource.
    resources = managed_resources_of(configuration).resources
    capacity = {each.name: PLACEHOLDER for each in resources if not each.is_floating}
    if not capacity:
        return pools
    names = [pool["metadata"]["name"] for pool in pools]
    requirements = [{"key": "karpenter.sh/nodepool", "operator": "In", "values": names}]
    return [*pools, _object("v1alpha1", "NodeOverlay", name, requirements=requirements, capacity=capacity)]


def manifests_text(configuration: BerthConfiguration, name: str) -> str:
    """Return the manifests as YAML, with comments at the values that users must replace."""
    return "---\n".join(yaml_text(each, COMMENTS) for each in manifests(configuration, name))


def _node_pool(name: str, metadata: Mapping[str, object], reserved: str = "") -> dict[str, Any]:
    spec: dict[str, object] = {
        "requirements": [],
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
    }
    if reserved:
        spec["taints"] = [{"key": reserved, "effect": "NoSchedule"}]
    disruption = {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "10m"}
    return _object("v1", "NodePool", name, template={"metadata": dict(metadata), "spec": spec}, disruption=disruption)


def _object(version: str, kind: str, name: str, **spec: object) -> dict[str, Any]:
    return {"apiVersion": f"karpenter.sh/{version}", "kind": kind, "metadata": {"name": name}, "spec": spec}


def template_node(pool: Mapping[str, Any]) -> NodeInfo:
    """Return a node of this NodePool, with the fields that its template states."""
    template = pool["spec"]["template"]
    metadata, requirements = template.get("metadata") or {}, template["spec"].get("requirements") or ()
    chosen = {
        each["key"]: each["values"][0]
        for each in requirements
        if each["operator"] == "In" and len(each.get("values") or ()) == 1
    }
    labels = {**chosen, **(metadata.get("labels") or {})}
    return NodeInfo(pool["metadata"]["name"], labels, annotations=metadata.get("annotations") or {})


def rejections(configuration: BerthConfiguration, node: NodeInfo) -> Iterator[str]:
    """Yield the reasons for which the policy rejects such a node, except about fields that a template cannot state."""
    for plugin in _filters(configuration):
        if isinstance(plugin, NodePriorityLabel) and not is_of_provider(plugin.label):
            yield from plugin.filter(_ANY_POD, node).reasons
    for each in configuration.managed_resources:
        keys = [source.node_label or source.node_annotation for source in each.sources]
        if keys and all(keys) and (isinstance(found := capacity_of(each, node), NoAmount) or not found):
            yield insufficient(each.name)


def _filters(configuration: BerthConfiguration) -> Iterator[AnyFilter]:
    for profile in configuration.policy().all_profiles:
        yield from profile.filters
