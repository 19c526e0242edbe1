"""What a bound pod says of itself beside what the ledger holds for it."""

from __future__ import annotations

from collections.abc import Mapping

from berth.ledger.nodes.entry import Entry, EntryState, Shares
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.device_annotation import resource_of
from berth.scheduling.objects import Pod


def diverging_claim(counting: Counting, pod: Pod, entry: Entry, capacity: Mapping[str, int]) -> Shares | None:
    """The amounts or devices that the pod claims, if they differ from its entry; empty if it claims nothing, or no
    device. None: they agree, or the pod is not confirmed yet. capacity: the node's.
    """
    if entry.state is not EntryState.BOUND:
        return None
    claimed = counting.shares(pod, capacity)
    if claimed is None:
        # Of a pod that others bound, nobody ever named a device.
        return {} if entry.attempt and not counting.names_devices(pod) else None
    if dict(claimed) == dict(entry.shares):
        return None
    beyond = beyond_limit(counting, pod, entry, capacity)
    return None if _without(claimed, beyond) == _without(entry.shares, beyond) else claimed


def beyond_limit(counting: Counting, pod: Pod, entry: Entry, capacity: Mapping[str, int]) -> Shares:
    """The resources of which a pod that others bound requests more than one pod is charged, with that amount."""
    # What Berth reserved is counted as a whole.
    return {} if entry.attempt or entry.state is not EntryState.BOUND else counting.beyond_limit(pod, capacity)


def uncounted(counting: Counting, pod: Pod, entry: Entry | None) -> Shares:
    """The resources of which a pod that others bound is charged nothing because no request of them can be read."""
    if entry is None:
        return dict.fromkeys(counting.uncounted(pod), 0)
    if entry.attempt or entry.state is not EntryState.BOUND:
        return {}
    # What it was charged before the request became unreadable stays.
    return dict.fromkeys(counting.uncounted(pod) - set(map(resource_of, entry.shares)), 0)


def _without(shares: Shares, resources: Shares) -> Shares:
    """The shares of other resources."""
    return {pool: amount for pool, amount in shares.items() if resource_of(pool) not in resources}
