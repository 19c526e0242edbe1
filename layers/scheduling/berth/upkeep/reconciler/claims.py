"""Compares the ledger entries of pods on a node with the amounts that the pods claim by requests and annotations, and
computes the amounts that pods are charged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from berth.ledger.nodes.entry import Entry, EntryState
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.pools import Shares, add, left, resource_of
from berth.scheduling.objects import Pod


def diverging_claim(counting: Counting, pod: Pod, entry: Entry, capacity: Mapping[str, int]) -> Shares | None:
    """Return the amounts or devices that the pod claims, if they differ from its entry; empty if it does not claim any,
    or lacks a device. None: claim and entry agree, or the pod is not confirmed yet. capacity: of the node."""
    if entry.state is not EntryState.BOUND:
        return None
    claimed = counting.shares(pod, capacity)
    held = {pool: amount for pool, amount in entry.shares.items() if resource_of(pool) in counting.resources}
    if claimed is None:
        # Other schedulers do not name devices.
        return {} if entry.attempt and not counting.names_devices(pod) else None
    if dict(claimed) == held:
        return None
    beyond = beyond_limit(counting, pod, entry, capacity)
    return None if _without(claimed, beyond) == _without(held, beyond) else claimed


def beyond_limit(counting: Counting, pod: Pod, entry: Entry, capacity: Mapping[str, int]) -> Shares:
    """Return the requested amounts of a pod of another scheduler that exceed the largest charge for one pod."""
    # Amounts that Berth reserved are charged in full.
    return {} if entry.attempt or entry.state is not EntryState.BOUND else counting.beyond_limit(pod, capacity)


def uncounted(counting: Counting, pod: Pod, entry: Entry | None) -> Shares:
    """Return the resources that a pod of another scheduler is not charged for: their requests are unreadable."""
    if entry is None:
        return dict.fromkeys(counting.uncounted(pod), 0)
    if entry.attempt or entry.state is not EntryState.BOUND:
        return {}
    # Amounts that were charged before the request became unreadable are kept.
    return dict.fromkeys(counting.uncounted(pod) - set(map(resource_of, entry.shares)), 0)


def _without(shares: Shares, resources: Shares) -> Shares:
    return {pool: amount for pool, amount in shares.items() if resource_of(pool) not in resources}


def held(
    counting: Counting, pod: Pod | None, entry: Entry, before: Mapping[str, int], capacity: Mapping[str, int]
) -> Shares:
    """Return the entry's shares, adjusted to the capacity. before, capacity: as in the ledger, and as published."""
    if pod is None:
        return entry.shares
    shares = entry.shares
    if not entry.attempt:
        shares = counting.charged_after_growth(pod, shares, before, capacity)
    return counting.resized(pod, shares, capacity)


def first_seen(
    counting: Counting, pods: Sequence[Pod], capacity: Mapping[str, int], used: dict[str, int]
) -> Iterator[tuple[str, Shares]]:
    """Yield the charges of pods without an entry, by UID. used: the amounts charged so far; each charge is added."""
    later: list[Pod] = []
    for pod in sorted(pods, key=lambda each: (each.start_time or 0, each.uid)):
        if counting.has_room_as_annotated(pod, capacity, left(capacity, used)):
            yield pod.uid, _charge(counting, pod, capacity, used)
        else:
            later.append(pod)
    # Last, charge the pods that name a device without room: they are charged to the device that is fullest then.
    for pod in sorted(later, key=counting.names_devices):
        yield pod.uid, _charge(counting, pod, capacity, used)


def _charge(counting: Counting, pod: Pod, capacity: Mapping[str, int], used: dict[str, int]) -> Shares:
    shares = counting.charged(pod, capacity, left(capacity, used))
    add(used, shares)
    return shares
