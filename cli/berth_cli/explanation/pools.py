"""The floating pools that reject a pod: what is left in them, who waits for them, and what would be enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from berth.scheduling.managed_resources.pools import domain_of, resource_of
from berth_cli.explanation.case import Case
from berth_cli.explanation.rules import Rules


@dataclass(frozen=True, slots=True)
class PoolShortage:
    """A floating pool with too little left. kept: for waiting pods of a higher priority. needed: by the pod, or by the
    members of its gang. waiting: all pods that wait for the pool; before: those of a higher priority."""

    pool: str
    capacity: int
    held: int
    kept: int
    needed: int
    waiting: int
    before: int

    @property
    def room(self) -> int:
        """What the pod may request; below 0 if pods hold more than the capacity."""
        return self.capacity - self.held - self.kept

    @property
    def text(self) -> str:
        """What is left, and who waits, for users."""
        left, domain = max(0, self.capacity - self.held), domain_of(self.pool)
        text = f"{left} of {self.capacity} {resource_of(self.pool)} left in {shown_domain(domain)}"
        text += f", {self.needed} requested" if self.needed > 1 else ""
        text += ", kept for waiting pods of a higher priority" if left >= self.needed else ""
        if self.waiting > 1:
            text += f"; {self.waiting} pods wait for it, {self.before} of them before this one"
        return text


def shown_domain(domain: str) -> str:
    """Return the domain for users: a label without the prefix of its key."""
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
        wait = [each.priority or 0 for each in waiting.values() if pool in counting.floating.used((each,), labels)]
        before = sum(other > priority for other in wait)
        held, kept = use.used.get(pool, 0), use.kept(pool, priority)
        found.append(PoolShortage(pool, counting.floating.capacity(pool), held, kept, needed, len(wait), before))
    return [each for each in found if each.needed > each.room]
