"""The resources that can be listed and watched, over all namespaces."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resource:
    """`name` is the plural that RBAC knows it by, `group` empty for the core group."""

    name: str
    version: str = "v1"
    group: str = ""

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

BASE_RESOURCES = (NODES, PODS, POD_DISRUPTION_BUDGETS, PRIORITY_CLASSES, NAMESPACES)
"""The resources that every profile needs."""

SPREAD_RESOURCES = (SERVICES, REPLICATION_CONTROLLERS, REPLICA_SETS, STATEFUL_SETS)
"""Also needed by profiles that score PodTopologySpread, for its default constraints."""
