"""Finds the pods that block a pod: by host ports, required anti-affinity, or units of floating pools."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from berth.scheduling.managed_resources.pools import domain_of, resource_of
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.inter_pod_affinity.terms import Terms
from berth.scheduling.plugins.node_ports import WantedPorts
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.explanation.case import Case
from berth_cli.explanation.rules import Rules
from berth_cli.placement.queue import rank_of

BLOCKED = {
    ReasonCode.HOST_PORT_TAKEN: "host port {} is taken by {}",
    ReasonCode.POD_ANTI_AFFINITY_CONFLICT: "anti-affinity with {1}",
    ReasonCode.EXISTING_POD_ANTI_AFFINITY_CONFLICT: "anti-affinity of {1}",
}
"""The reasons for which pods keep a pod away, with a clause about their ports and the pods."""

ByDomain = Mapping[tuple[str, str], Sequence[Pod]]
"""Maps a topology key and one of its values to pods."""


class Blockers:
    """Finds the pods that keep a pod away. Pods that do so by anti-affinity may be on any node of the same domain."""

    def __init__(self, pod: Pod, snapshot: Snapshot) -> None:
        self._pod, self._snapshot = pod, snapshot
        self._wanted = WantedPorts(pod.spec.host_ports)

    def of(self, code: ReasonCode, nodes: Iterable[NodeInfo]) -> Sequence[Pod]:
        """Return the pods that keep the pod from these nodes for this reason."""
        if code is ReasonCode.HOST_PORT_TAKEN:
            pods = (pod for node in nodes for pod in node.pods)
            return [pod for pod in pods if any(map(self._wanted.conflict_with, pod.spec.host_ports))]
        found = self._by_domain[code]
        keys = list(dict.fromkeys(key for key, _ in found))
        domains = dict.fromkeys((key, node.labels.get(key, "")) for node in nodes for key in keys)
        return list({pod.uid: pod for domain in domains for pod in found.get(domain, ())}.values())

    def ports_of(self, pods: Sequence[Pod]) -> Sequence[str]:
        """Return the pod's host ports that these pods use."""
        taken = (port for pod in pods for port in filter(self._wanted.conflict_with, pod.spec.host_ports))
        return list(dict.fromkeys(f"{port.port}/{port.protocol}" for port in taken))

    @property
    def has_affine_pod(self) -> bool:
        """Whether a pod on a node matches the pod's required affinity, or the pod itself does."""
        terms = Terms(self._pod, self._snapshot)
        pods = (pod for node in self._snapshot.nodes.values() for pod in node.pods)
        return terms.matches_itself or any(all(t.matches(pod.label_set) for t in terms.affinity) for pod in pods)

    @cached_property
    def _by_domain(self) -> Mapping[ReasonCode, ByDomain]:
        terms = Terms(self._pod, self._snapshot)
        own, existing = defaultdict[tuple[str, str], list[Pod]](list), defaultdict[tuple[str, str], list[Pod]](list)
        for node in self._snapshot.nodes.values():
            for pod in node.pods if terms.anti_affinity_keys or node.usage.specs_with_anti_affinity else ():
                _, by_own, by_existing = terms.of_one(pod, node)
                for pods, domains in ((own, by_own), (existing, by_existing)):
                    for domain in domains:
                        pods[domain].append(pod)
        return {ReasonCode.POD_ANTI_AFFINITY_CONFLICT: own, ReasonCode.EXISTING_POD_ANTI_AFFINITY_CONFLICT: existing}


@dataclass(frozen=True, slots=True)
class PoolShortage:
    """A floating pool with too little left. kept: the units for waiting pods of a higher priority. needed: the units
    that the pod, or its gang, needs. waiting: the number of waiting pods; before: how many of them are tried first."""

    pool: str
    capacity: int
    held: int
    kept: int
    needed: int
    waiting: int
    before: int

    @property
    def room(self) -> int:
        """The number of units that the pod may request; below 0 if the held and kept units exceed the capacity."""
        return self.capacity - self.held - self.kept

    @property
    def text(self) -> str:
        """The remaining units and the waiting pods, as text for users."""
        left, domain = max(0, self.capacity - self.held), domain_of(self.pool)
        text = f"{left} of {self.capacity} {resource_of(self.pool)} left in {shown_domain(domain)}"
        text += f", {self.needed} requested" if self.needed > 1 else ""
        text += ", kept for waiting pods of a higher priority" if left >= self.needed else ""
        if self.waiting > 1:
            text += f"; {self.waiting} pods wait for it, {self.before} of them before this one"
        return text


def shown_domain(domain: str) -> str:
    """Format the domain for users: omit the prefix of a label key."""
    key, _, value = domain.partition("=")
    return f"{key.rpartition('/')[2]} {value}" if value else f"the {domain}"


def short_pools(case: Case, rules: Rules, labels: Mapping[str, str]) -> list[PoolShortage]:
    """Return the floating pools with too little left for the pod, or for its gang, on a node with these labels."""
    counting, use, priority = rules.berth.counting, rules.pools.use_in(case.snapshot), case.pod.priority or 0
    members = [case.pod, *(mate for mate in case.mates if not mate.node_name)][: case.missing]
    waiting = {each.uid: each for each in case.snapshot.unbound.values() if each.waits_for_pool}
    waiting |= {each.uid: each for each in members}
    found = []
    for pool, needed in sorted(counting.floating.used(members, labels).items()):
        wait = [each for each in waiting.values() if pool in counting.floating.used((each,), labels)]
        before = sum(rank_of(each) < rank_of(case.pod) for each in wait if each not in members)
        held, kept = use.used.get(pool, 0), use.kept(pool, priority)
        found.append(PoolShortage(pool, counting.floating.capacity(pool), held, kept, needed, len(wait), before))
    return [each for each in found if each.needed > each.room]
