"""Histories of the ledger with devices, and with users who do anything that the API server allows.

Owners change a pod's request between two attempts to bind it. After the Binding they change and remove its request and
its device, and make the pod so large that the cache has only a reduced form of it, or does not have it. Creators set
`spec.nodeName`, name a device, and request any amount, even a malformed one. Another watcher may take over at any call
of any actor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random
from zlib import crc32

from berth.pods import Binding, Created, Refused, Unanswered
from berth.scheduling.managed_resources.pools import resource_of
from berth.scheduling.objects.pod import PodKey
from tests.fakes.counted_cluster import (
    BY_ANNOTATION,
    DEVICE,
    DEVICES_BY_ANNOTATION,
    FIRST,
    REQUEST,
    SEAT,
    SECOND,
    SLOT,
    SLOTS_AND_SEATS,
)

from .ledger_histories import NODES, ReservationsHistory

HAND_OVERS = 0.01
"""Probability of a hand-over at each point before or after a call."""

DEVICES: tuple[str | None, ...] = ("0", "1", "200", "none", None)
NO_AMOUNTS = ("none", "-1", "9" * 18)
REQUESTS: tuple[str | None, ...] = ("0", "1", "100", str(10**15), "none", None)


class HostileHistory(ReservationsHistory):
    """A history whose `run` raises AssertionError if a node is overcommitted or a running pod has lost its shares."""

    retried = 0.8
    pause = 1.0
    sizes = (4, 7)

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.counting = {1: SLOTS_AND_SEATS, 3: BY_ANNOTATION}.get(seed % 4, DEVICES_BY_ANNOTATION)
        self.edits = 0
        self.hidden = 0
        """Number of pods whose creators gave a malformed request of seats."""
        self.hand_overs = 0
        self.surplus = 0
        """How often an entry with two devices was seen."""
        self._largest = dict(self.cluster.nodes)
        """By node, the most slots of each device that it has had until now."""

    def run(self) -> None:
        self.world.after(1.0, self._people_act)
        super().run()

    def between(self) -> None:
        if not self.ends and self.world.random.random() < HAND_OVERS:
            self.hand_overs += 1
            self.lead()
        super().between()

    def arrived(self, binding: Binding) -> Created | Refused | Unanswered:
        """Carry out a Binding, and often edit the pod before it is published."""
        done = super().arrived(binding)
        if isinstance(done, Created) and self.world.random.random() < 0.5:
            self._edit_bound_pod(binding.pod_name, self.world.random)
        return done

    def node_for(self, pod: PodKey) -> str:
        """Return mostly the same node, so that two attempts reserve in the same entry."""
        return super().node_for(pod) if self.world.random.random() < 0.1 else NODES[crc32(pod.uid.encode()) % 2]

    def owner_acts(self, name: str, chance: float) -> None:
        """Do nothing: `_people_act` edits the pods."""

    def _people_act(self) -> None:
        if self.ends:
            return
        random, cluster = self.world.random, self.cluster
        if cluster.pods:
            name = random.choice(sorted(cluster.pods))
            pod = cluster.pods[name]
            if pod.key.uid in self.berths and not pod.finished:
                self._edit_bound_pod(name, random)
            elif not pod.node and not pod.finished:
                self._edit_waiting_pod(name, random)
            self.check()
        self.world.after(random.uniform(0.05, 0.6), self._people_act)

    def _edit_waiting_pod(self, name: str, random: Random) -> None:
        match random.randrange(8):
            case 0:
                # A creator sets the node before any scheduler sees the pod.
                self.cluster.request(name, random.choice((2, 7, 10**15)))
                self.cluster.annotate(name, DEVICE, random.choice(DEVICES))
                if self.counting is SLOTS_AND_SEATS and random.random() < 0.5:
                    self.cluster.annotate(name, REQUEST, random.choice(NO_AMOUNTS))
                    self.hidden += 1
                self.cluster.place(name, random.choice(NODES))
            case 1 | 2 | 3 | 4:
                self.cluster.request(name, random.randint(1, 4))
            case _:
                return
        self.edits += 1

    def _edit_bound_pod(self, name: str, random: Random) -> None:
        match random.randrange(8):
            case 0:
                self.cluster.hide(name)
            case 1:
                self.cluster.reduce(name)
            case 2 | 3:
                self.cluster.annotate(name, REQUEST, random.choice(REQUESTS))
            case _:
                self.cluster.annotate(name, DEVICE, random.choice(DEVICES))
        self.edits += 1

    def check(self) -> None:
        """Assert that no node is overcommitted, and that every pod that Berth bound has an entry with its shares."""
        super().check()
        for name, units in self.cluster.nodes.items():
            self._largest[name] = max(self._largest[name], units)
        used: dict[str, Counter[str]] = {node: Counter() for node in NODES}
        for pod in self.cluster.pods.values():
            node = self.berths.get(pod.key.uid)
            if node is None or pod.finished:
                continue
            used[node].update(pod.got)
            found = self.table.node(node)
            if found is not None and found.avail is not None:
                held = found.entries[pod.key.uid].shares
                self.surplus += sum(resource_of(pool) == SLOT for pool in held) > 1
                assert all(held.get(pool, 0) >= amount for pool, amount in pod.got.items()), (
                    f"{pod.key.name} on {node} got {pod.got}, and the ledger has {dict(held)}"
                )
        for name, amounts in used.items():
            for pool, amount in amounts.items():
                assert amount <= self._largest[name], f"{name} gave {amount} of {pool}"

    def check_end(self) -> None:
        """Assert that every entry counts slots, even if the pod's request of seats is malformed."""
        super().check_end()
        for ledger in self.table.nodes():
            for entry in ledger.entries.values():
                slots = sum(amount for pool, amount in entry.shares.items() if resource_of(pool) == SLOT)
                assert slots > 0, f"{entry.pod.name} on {ledger.owner} has hidden its slots"

    def capacity(self, node: str) -> Mapping[str, int]:
        pools = {SLOTS_AND_SEATS: (SLOT, SEAT), BY_ANNOTATION: (SLOT,)}.get(self.counting, (FIRST, SECOND))
        return dict.fromkeys(pools, self.cluster.nodes[node])
