"""What a pod asks for, in its containers or in an annotation."""

from __future__ import annotations

from dataclasses import dataclass

from berth.scheduling.managed_resources.amounts import NoAmount, amount_in, bounded
from berth.scheduling.objects.pod import Pod, PodSpec
from berth.scheduling.objects.reading import Unreadable

PERCENT = 100

# Given on every node to a pod whose own word is none: constant, whatever it is (fact 17).
REASON_REQUEST = "the pod's request of {} is not an amount of at most 10^15"
REASON_PERCENT = "the pod's request of {} is more than 100 per cent"
REASON_ANNOTATION = "the pod's annotation {} is not an amount of at most 10^15"


@dataclass(frozen=True, slots=True)
class Demand:
    """What a pod asks for of one resource, above 0. percent: of one device, 1 to 100."""

    resource: str
    amount: int
    percent: bool = False

    def of(self, size: int) -> int:
        """The units, of a device of this size; rounded up."""
        return -(-size * self.amount // PERCENT) if self.percent else self.amount


def requested(spec: PodSpec, name: str, resource: str) -> Demand | Unreadable | None:
    """Of this resource by its containers, under this name; another one stands for per cent. None: nothing."""
    if name in spec.requests.beyond:
        return Unreadable(REASON_REQUEST.format(name))
    units, percent = spec.requests.asked.get(name, 0), name != resource
    if units <= 0:
        return None
    amount = bounded(units)
    if isinstance(amount, NoAmount):
        return Unreadable(REASON_REQUEST.format(name))
    if percent and amount > PERCENT:
        return Unreadable(REASON_PERCENT.format(name))
    return Demand(resource, amount, percent)


def annotated(pod: Pod, name: str, key: str) -> Demand | Unreadable | None:
    """By its annotation `key`. None: nothing."""
    if key not in pod.annotations:
        return None
    amount = amount_in(pod.annotations[key])
    if isinstance(amount, NoAmount):
        return Unreadable(REASON_ANNOTATION.format(key))
    return Demand(name, amount) if amount else None
