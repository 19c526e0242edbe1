"""Topology spread constraints of a pod."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from berth.scheduling.fields.reading import Object, read_integer, read_object_list, read_string, read_strings
from berth.scheduling.fields.requirements import InvalidRequirement
from berth.scheduling.fields.selectors import LabelSelector, read_label_selector


class UnsatisfiableConstraintAction(StrEnum):
    """What becomes of a node that would make the skew too large."""

    DO_NOT_SCHEDULE = "DoNotSchedule"
    SCHEDULE_ANYWAY = "ScheduleAnyway"


@dataclass(frozen=True, slots=True)
class TopologySpreadConstraint:
    """A limit for the uneven spread of pods over the values of one node label.

    honor_affinity, honor_taints: whether the count leaves out nodes that the pod's node affinity does not match, or
    whose taints it does not tolerate (nodeAffinityPolicy, nodeTaintsPolicy).
    """

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    selector: LabelSelector | InvalidRequirement
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False
    match_label_keys: tuple[str, ...] = ()


def read_topology_spread(value: object) -> tuple[TopologySpreadConstraint, ...]:
    """Read the constraints of a pod's spec. Raises MalformedField."""
    path = "Pod.spec.topologySpreadConstraints"
    return tuple(_read_constraint(item, f"{path}[]") for item in read_object_list(value, path))


def _read_constraint(obj: Object, path: str) -> TopologySpreadConstraint:
    min_domains = read_integer(obj.get("minDomains"), f"{path}.minDomains")
    return TopologySpreadConstraint(
        read_integer(obj.get("maxSkew"), f"{path}.maxSkew") or 0,
        read_string(obj.get("topologyKey"), f"{path}.topologyKey"),
        read_string(obj.get("whenUnsatisfiable"), f"{path}.whenUnsatisfiable"),
        read_label_selector(obj.get("labelSelector"), f"{path}.labelSelector"),
        1 if min_domains is None else min_domains,
        read_string(obj.get("nodeAffinityPolicy"), f"{path}.nodeAffinityPolicy") in ("", "Honor"),
        read_string(obj.get("nodeTaintsPolicy"), f"{path}.nodeTaintsPolicy") == "Honor",
        read_strings(obj.get("matchLabelKeys"), f"{path}.matchLabelKeys"),
    )
