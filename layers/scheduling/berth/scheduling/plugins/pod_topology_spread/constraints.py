"""The constraints of a pod: its own, or the defaults."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from berth.scheduling.fields.selectors import InvalidRequirement, LabelSelector, equals
from berth.scheduling.fields.topology_spread import TopologySpreadConstraint, UnsatisfiableConstraintAction
from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.snapshot import Snapshot

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint with the selector that it has for one pod."""

    max_skew: int
    topology_key: str
    selector: LabelSelector
    min_domains: int
    honor_affinity: bool
    honor_taints: bool


@dataclass(frozen=True, slots=True)
class Rules:
    """The source of constraints: the action of the pod's own constraints that count, and the defaults.

    system_defaults: the defaults are kube-scheduler's own. They accept nodes without a topology key.
    """

    action: UnsatisfiableConstraintAction
    defaults: tuple[TopologySpreadConstraint, ...]
    system_defaults: bool


def constraints_of(
    pod: Pod,
    action: UnsatisfiableConstraintAction,
    defaults: Iterable[TopologySpreadConstraint],
    snapshot: Snapshot,
) -> tuple[Constraint, ...] | InvalidRequirement:
    """The pod's own constraints with this action; the defaults, with its workloads' selector, where it has none."""
    own = pod.spec.topology_spread
    if own:
        return _with_action(own, action, pod, None)
    if not any(each.when_unsatisfiable == action for each in defaults):
        return ()
    selector = snapshot.workloads.selector_of(pod)
    return () if selector.everything else _with_action(defaults, action, pod, selector)


def _with_action(
    constraints: Iterable[TopologySpreadConstraint],
    action: UnsatisfiableConstraintAction,
    pod: Pod,
    selector: LabelSelector | None,
) -> tuple[Constraint, ...] | InvalidRequirement:
    found = []
    for each in constraints:
        if each.when_unsatisfiable != action:
            continue
        if isinstance(each.selector, InvalidRequirement):
            return each.selector
        narrowed = each.selector.narrowed(
            tuple(equals(key, pod.labels[key]) for key in dict.fromkeys(each.match_label_keys) if key in pod.labels)
        )
        found.append(
            Constraint(
                each.max_skew,
                each.topology_key,
                narrowed if selector is None else selector,
                each.min_domains,
                each.honor_affinity,
                each.honor_taints,
            )
        )
    return tuple(found)
