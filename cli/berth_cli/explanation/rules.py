"""The rules that apply to a pod: kube-scheduler's own plugins, then Berth's profile for the pod. Groups nodes by the
reasons for which the rules reject them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import chain

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.evaluation.evaluation import Evaluation, LocalEvaluation
from berth.scheduling.feasibility import Exemption
from berth.scheduling.fields.requirements import Operator, Requirement, equals
from berth.scheduling.fields.taints import TolerationIndex
from berth.scheduling.framework.plugin import SUCCESS, Status
from berth.scheduling.framework.profile import AnyFilter, Profile
from berth.scheduling.framework.shipped_profiles import FULL
from berth.scheduling.gangs.gang import NO_OPEN_GANGS, Gang, GangsConfiguration, InvalidGang, gang_of
from berth.scheduling.gangs.overview import GangStatus
from berth.scheduling.gangs.planner import GangPlacement
from berth.scheduling.managed_resources.configuration import ManagedResource
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.pools import domain_of, limits_namespace, resource_of
from berth.scheduling.objects import NodeInfo, Pod, UnreadableObject
from berth.scheduling.plugins.floating_resources import FloatingResources
from berth.scheduling.plugins.node_affinity import required_of
from berth.scheduling.policy import Policy
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.terminal.input_files import did_you_mean

NO_EXEMPTION = Exemption(daemonSets=False, systemCritical=False, namespaces=frozenset())


class DecidedBy(StrEnum):
    """The owner of a rule."""

    SCHEDULER = "kube-scheduler"
    BERTH = "Berth"


@dataclass(frozen=True, slots=True)
class Rejection:
    """A rejection of a node: the first rule that rejects it."""

    by: DecidedBy
    status: Status


class Rules:
    """Both sets of rules. If Berth's profile is `full`, it contains the scheduler's rules and is used alone."""

    def __init__(self, configuration: BerthConfiguration) -> None:
        self.configuration = configuration
        self.scheduler = configuration.build_profile(FULL)
        self.berth = configuration.policy()
        self._scheduler = Policy(self.scheduler, NO_EXEMPTION)
        self.pools = FloatingResources().with_counting(self.berth.counting)

    def rejected(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> Mapping[str, Rejection]:
        """Return the rejected nodes of `names`, by name."""
        first = self._scheduler.feasibility(pod, names, snapshot)
        found = {name: Rejection(DecidedBy.SCHEDULER, status) for name, status in first.rejected.items()}
        if first.feasible and (self.berth.plans(pod) or self._berth_profile(pod) is not None):
            second = self.berth.feasibility(pod, first.feasible, snapshot)
            found |= {name: Rejection(DecidedBy.BERTH, status) for name, status in second.rejected.items()}
        return found

    @cached_property
    def without_gangs(self) -> Rules:
        """These rules without gangs: every pod is placed alone."""
        return Rules(self.configuration.model_copy(update={"gangs": GangsConfiguration()}))

    def with_capacities(self, capacities: Mapping[str, int]) -> Rules:
        """Return these rules with other capacities of floating pools."""
        resources = self.configuration.managed_resources
        for pool, amount in capacities.items():
            resources = tuple(_with_capacity(each, pool, amount) for each in resources)
        return Rules(self.configuration.model_copy(update={"managed_resources": resources})) if capacities else self

    def is_member(self, pod: Pod, snapshot: Snapshot) -> bool:
        """Return whether the pod is placed together with other members of a gang, or its gang settings are invalid."""
        return self.berth.plans(pod) and self.berth.planner.is_member(pod, snapshot)

    def placement(self, pod: Pod, snapshot: Snapshot) -> GangPlacement | InvalidGang | None:
        """Return the placement of the pod's gang; None if no member waits. snapshot: with or without the pod."""
        snapshot = snapshot.with_changes(Changes(pods=(pod,)))
        gang = gang_of(pod, snapshot.pod_groups, self.configuration.gangs)
        if not isinstance(gang, Gang):
            return gang
        return self.berth.planner.placement(gang.key, snapshot, NO_OPEN_GANGS)

    def gang_status(self, pod: Pod, snapshot: Snapshot) -> GangStatus | None:
        """Return the status of the gang that the pod is placed with."""
        gang = self.berth.gang_of(pod, snapshot)
        statuses = () if gang is None else self.berth.gangs_in(snapshot.with_changes(Changes(pods=(pod,))))
        return next((each for each in statuses if gang is not None and each.key == gang.key), None)

    def fitting(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> list[str]:
        """Return the nodes of `names` that pass all rules."""
        rejected = self.rejected(pod, names, snapshot)
        return [name for name in names if name not in rejected]

    def failing(self, pod: Pod, names: Iterable[str], snapshot: Snapshot) -> Mapping[str, Sequence[Status]]:
        """Return, for each node of `names`, the statuses of all filters that reject it, not only of the first."""
        found: dict[str, list[Status]] = {name: [] for name in names}
        for plugin in self.filters(pod):
            statuses = _alone(plugin, pod, snapshot).statuses
            for name, own in found.items():
                status = statuses[name]
                if status is not SUCCESS and status not in own:
                    own.append(status)
        return found

    def counted(self, pod: Pod) -> tuple[Demand, ...]:
        """Return the pod's demands that are counted on nodes; empty if one cannot be read."""
        demands = self.berth.counting.demands(pod)
        return () if isinstance(demands, UnreadableObject) else self.berth.counting.node_demands(demands)

    def capacity(self, resource: str, node: NodeInfo) -> int:
        """Return the node's capacity of a counted resource, on its largest device."""
        capacity = self.berth.counting.capacity(node)
        return max((capacity[pool] for pool in self.berth.counting.pools(resource, capacity)), default=0)

    def filters(self, pod: Pod) -> list[AnyFilter]:
        """Return the filters that apply to the pod."""
        profile = self._berth_profile(pod)
        return [*self.scheduler.filters, *(() if profile is None else profile.filters)]

    def _berth_profile(self, pod: Pod) -> Profile | None:
        profile = self.berth.profile_of(pod)
        return None if profile.name == FULL else profile


def _with_capacity(resource: ManagedResource, pool: str, amount: int) -> ManagedResource:
    capacity, value = resource.capacity, domain_of(pool).partition("=")[2]
    if resource.name != resource_of(pool):
        return resource
    if capacity is None or limits_namespace(pool):
        return resource.model_copy(update={"per_namespace": amount})
    changed = {"values": {**capacity.values, value: amount}} if value else {"value": amount}
    return resource.model_copy(update={"capacity": capacity.model_copy(update=changed)})


def _alone(plugin: AnyFilter, pod: Pod, snapshot: Snapshot) -> Evaluation:
    """Evaluate one filter plugin without the others."""
    profile = Profile(plugin.name, (plugin,), ())
    return Evaluation.of(profile, pod, snapshot, LocalEvaluation.of(profile, pod, snapshot))


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a rule rejects nodes. by: the owner of the rule. detail: the taints, or the missing label; may be empty."""

    by: DecidedBy
    plugin: str
    text: str
    code: ReasonCode
    detail: str = ""


Reasons = Mapping[Reason, Sequence[str]]
"""Maps reasons to the nodes that they reject, the nodes that are meant for the pod first. A node may have several
reasons."""

# Nodes with these reasons are not meant for the pod, or are unavailable to all pods now.
_NOT_MEANT = 2
OTHER_NODES = {
    ReasonCode.NODE_AFFINITY_MISMATCH: _NOT_MEANT,
    ReasonCode.ADDED_NODE_AFFINITY_MISMATCH: _NOT_MEANT,
    ReasonCode.NODE_UNSCHEDULABLE: 3,
    ReasonCode.NODE_NOT_READY: 3,
    ReasonCode.NODE_NOT_RUNNING: 3,
    ReasonCode.UNTOLERATED_TAINT: 4,
    ReasonCode.NODE_RESERVED: 4,
    ReasonCode.NODE_NAME_MISMATCH: 4,
}


def by_reason(rejected: Mapping[str, Rejection], pod: Pod, snapshot: Snapshot) -> Reasons:
    """Group the nodes by reason: first the reasons of nodes that could otherwise take the pod, by frequency."""
    found: dict[Reason, list[str]] = {}
    for name, rejection in rejected.items():
        status = rejection.status
        for text, code in zip(status.reasons, status.reason_codes, strict=True):
            found.setdefault(Reason(rejection.by, status.plugin, text, code), []).append(name)
    others = other_nodes(pod, snapshot)

    def order(item: tuple[Reason, list[str]]) -> tuple[int, int, str]:
        (reason, nodes), place = item, OTHER_NODES.get(item[0].code, 0)
        if others.issuperset(nodes):
            place = max(place, _NOT_MEANT)
        elif others and reason.code is ReasonCode.UNTOLERATED_TAINT:
            place = 1  # some of the nodes are meant for the pod
        return place, -len(nodes), reason.text

    return {reason: sorted(nodes, key=others.__contains__) for reason, nodes in sorted(found.items(), key=order)}


def by_detail(reasons: Reasons, pod: Pod, snapshot: Snapshot) -> Reasons:
    """Split each reason by the taints of its nodes, or by the labels that they lack."""
    found: dict[Reason, list[str]] = {}
    for reason, names in reasons.items():
        for name in names:
            detail = _detail(reason.code, pod, snapshot.nodes[name])
            text = f"{reason.text}: {detail}" if detail else reason.text
            found.setdefault(replace(reason, text=text, detail=detail), []).append(name)
    return found


def _detail(code: ReasonCode, pod: Pod, node: NodeInfo) -> str:
    spec, keys = pod.spec, list[str]()
    if code is ReasonCode.UNTOLERATED_TAINT:
        return ", ".join(map(str, TolerationIndex(spec.tolerations).untolerated(node.taints)))
    if code is ReasonCode.TOPOLOGY_SPREAD_LABEL_MISSING:
        keys = [each.topology_key for each in spec.topology_spread if each.when_unsatisfiable == "DoNotSchedule"]
    elif code is ReasonCode.POD_AFFINITY_MISMATCH:
        keys = [each.topology_key for each in spec.pod_affinity.required]
    return ", ".join(f"no label {key}" for key in dict.fromkeys(keys) if key not in node.labels)


def other_nodes(pod: Pod, snapshot: Snapshot) -> frozenset[str]:
    """Return the nodes that the pod does not select, or that lack a resource that it requests. Ignore resources that
    all nodes lack: Berth may count them."""
    nodes, found = snapshot.nodes, set[str]()
    lacking = [
        {name for name, node in nodes.items() if not node.allocatable.get(resource)}
        for resource in pod.spec.requests.asked
    ]
    required = required_of(pod)
    if required is not None:
        lacking.append({name for name, node in nodes.items() if not required.matches(node)})
    for names in lacking:
        found |= names if len(names) < len(nodes) else set()
    return frozenset(found)


def missing_labels(pod: Pod, snapshot: Snapshot) -> Iterator[str]:
    """Yield the labels that the pod requires and that no node has, with the closest value or key of the nodes; and the
    labels that it excludes and that every node has. With several affinity terms: only if each needs such a label."""
    nodes, required = [node.labels for node in snapshot.nodes.values()], pod.spec.node_affinity.required

    def unmet(wanted: Iterable[Requirement]) -> list[Requirement]:
        return [each for each in wanted if not any(map(each.matches, nodes))]

    lacks = [unmet(each.expressions) for each in required.terms if not each.invalid] if required else []
    found = unmet(equals(*each) for each in (pod.spec.node_selector or {}).items())
    found = list(dict.fromkeys([*found, *(chain.from_iterable(lacks) if all(lacks) else ())])) if nodes else []
    excluded = [each for each in found if each.operator in (Operator.NOT_IN, Operator.DOES_NOT_EXIST)]
    if absent := [each for each in found if each not in excluded]:
        questions = "".join(dict.fromkeys(_closest(each, nodes) for each in absent))
        yield f"no node has {', nor '.join(map(_wanted, absent))}{questions}"
    if excluded:
        yield f"every node has {' and '.join(map(_wanted, excluded))}"


def _wanted(label: Requirement) -> str:
    if label.operator in (Operator.GT, Operator.LT):
        return f"{label.key} {'>' if label.operator is Operator.GT else '<'} {label.bound}"
    return f"{label.key}={' or '.join(sorted(label.values))}" if label.values else label.key


def _closest(label: Requirement, nodes: Sequence[Mapping[str, str]]) -> str:
    """Return a question about the closest value of the label, or about the closest key if no node has the label."""
    known = {node[label.key] for node in nodes if label.key in node}
    if not known:
        return did_you_mean(label.key, {key for node in nodes for key in node}, "the key ")
    wanted = sorted(label.values) if label.operator is Operator.IN else ()
    return next(filter(None, (did_you_mean(value, known) for value in wanted)), "")
