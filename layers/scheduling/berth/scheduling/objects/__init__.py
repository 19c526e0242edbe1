"""The objects that decisions read, reduced to the necessary fields, and their parsers (`read_…`)."""

from berth.scheduling.fields.reading import UnreadableObject
from berth.scheduling.objects.cluster import (
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    Workload,
    Workloads,
    read_disruption_budget,
    read_namespace,
    read_priority_class,
    read_workload,
)
from berth.scheduling.objects.node import LABELS_NOT_STRINGS, NodeInfo, read_node, trimmed_node
from berth.scheduling.objects.pod import LabelSet, Pod, PodSpec
from berth.scheduling.objects.pod_reading import label_set, pod_spec, read_pod, read_pods
from berth.scheduling.objects.projection import trimmed_pod

__all__ = [
    "LABELS_NOT_STRINGS",
    "LabelSet",
    "Namespace",
    "NodeInfo",
    "Pod",
    "PodDisruptionBudget",
    "PodSpec",
    "PriorityClass",
    "UnreadableObject",
    "Workload",
    "Workloads",
    "label_set",
    "pod_spec",
    "read_disruption_budget",
    "read_namespace",
    "read_node",
    "read_pod",
    "read_pods",
    "read_priority_class",
    "read_workload",
    "trimmed_node",
    "trimmed_pod",
]
