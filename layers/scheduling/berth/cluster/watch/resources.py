"""The resources that can be listed and watched, over all namespaces."""

from __future__ import annotations

from dataclasses import dataclass

from berth.scheduling.objects.pod_group import PodGroupApi


@dataclass(frozen=True, slots=True)
class Resource:
    """`name` is the plural that RBAC knows it by, `group` empty for the core group.

    earlier_versions: what older clusters serve instead of `version`, the newest first. is_optional: a cluster may serve
    none of them.
    """

    name: str
    version: str = "v1"
    group: str = ""
    earlier_versions: tuple[str, ...] = ()
    is_optional: bool = False

    @property
    def key(self) -> str:
        """The name in positions and in the cache. An optional one may have the name of another group's resource."""
        return str(self) if self.is_optional else self.name

    @property
    def path(self) -> str:
        prefix = f"/apis/{self.group}" if self.group else "/api"
        return f"{prefix}/{self.version}/{self.name}"

    def __str__(self) -> str:
        return f"{self.name}.{self.group}" if self.group else self.name


NODES = Resource("nodes")
PODS = Resource("pods")
POD_DISRUPTION_BUDGETS = Resource("poddisruptionbudgets", group="policy")
PRIORITY_CLASSES = Resource("priorityclasses", group="scheduling.k8s.io")
NAMESPACES = Resource("namespaces")
SERVICES = Resource("services")
REPLICATION_CONTROLLERS = Resource("replicationcontrollers")
REPLICA_SETS = Resource("replicasets", group="apps")
STATEFUL_SETS = Resource("statefulsets", group="apps")
POD_GROUPS = Resource("podgroups", "v1beta1", PodGroupApi.NATIVE, ("v1alpha2",), is_optional=True)
COSCHEDULING_POD_GROUPS = Resource("podgroups", "v1alpha1", PodGroupApi.COSCHEDULING, is_optional=True)
LEGACY_POD_GROUPS = Resource("podgroups", "v1alpha1", PodGroupApi.LEGACY, is_optional=True)

BASE_RESOURCES = (NODES, PODS, POD_DISRUPTION_BUDGETS, PRIORITY_CLASSES, NAMESPACES)
"""The resources that every profile needs."""

SPREAD_RESOURCES = (SERVICES, REPLICATION_CONTROLLERS, REPLICA_SETS, STATEFUL_SETS)
"""Also needed by profiles that score PodTopologySpread, for its default constraints."""

GANG_RESOURCES = (POD_GROUPS, COSCHEDULING_POD_GROUPS, LEGACY_POD_GROUPS)
"""Also needed where gangs are enabled."""

KINDS = {
    NODES: "Node",
    PODS: "Pod",
    NAMESPACES: "Namespace",
    POD_DISRUPTION_BUDGETS: "PodDisruptionBudget",
    PRIORITY_CLASSES: "PriorityClass",
    SERVICES: "Service",
    REPLICATION_CONTROLLERS: "ReplicationController",
    REPLICA_SETS: "ReplicaSet",
    STATEFUL_SETS: "StatefulSet",
}
"""What a dump has. An item of a list has no kind of its own."""
