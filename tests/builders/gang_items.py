"""Items of gangs."""

from __future__ import annotations

from collections.abc import Iterable

from berth.ledger.gangs.item import Claim, GangItem, GangState, Intent
from berth.scheduling.gangs.gang import GangKey
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.pools import Shares
from berth.scheduling.objects.pod import PodKey

TRAIN = GangKey("ml", "train")


def intent(
    name: str = "train-0",
    node: str = "n1",
    *,
    attempt: str = "",
    until: float = 100.5,
    demands: tuple[Demand, ...] = (),
    floating: Shares | None = None,
    shares: Shares | None = None,
    topology: str = "",
) -> Intent:
    """Return the intent of a pod with this name. attempt: by default, one per pod."""
    pod = PodKey("ml", name, f"uid-{name}")
    return Intent(pod, node, attempt or f"attempt-{name}", until, demands, floating or {}, shares or {}, topology)


def gang(
    intents: Iterable[Intent] = (),
    *,
    key: GangKey = TRAIN,
    state: GangState = GangState.OPEN,
    round_: int = 1,
    minimum: int = 2,
    version: int = 1,
    at: float = 10.25,
    reason: str = "",
    coordinator: str = "",
    topology_key: str = "",
) -> GangItem:
    by_uid = {each.pod.uid: each for each in intents}
    return GangItem(key, state, round_, minimum, 0, version, at, at, by_uid, coordinator, reason, topology_key)


def claim(
    name: str = "train", *, priority: int = 0, until: float = 60.5, opened_at: float = 0.0, minimum: int = 1
) -> Claim:
    """Return a claim of a gang with this name."""
    return Claim(GangKey("ml", name), priority, until, opened_at, minimum)
