"""The verdict of a filter plugin on one node, as kube-scheduler's `framework.Status`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from berth.scheduling.reason_code import ReasonCode


class Code(Enum):
    """Codes, by what the scheduler does next.

    SUCCESS: the node stays a candidate.
    UNSCHEDULABLE: the node is rejected; evicting pods from it might help.
    UNSCHEDULABLE_AND_UNRESOLVABLE: the node is rejected, and preemption does not look at it.
    ERROR: the plugin could not decide; the node is rejected like an unresolvable one.
    """

    SUCCESS = "Success"
    UNSCHEDULABLE = "Unschedulable"
    UNSCHEDULABLE_AND_UNRESOLVABLE = "UnschedulableAndUnresolvable"
    ERROR = "Error"


@dataclass(frozen=True, slots=True)
class Status:
    """One plugin's verdict on one node.

    A reason is a constant: no node's or pod's name, no number in it. The scheduler counts equal reasons, and a text
    that changes between attempts wakes the pod again at once (facts 15 and 17).
    """

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    reason_codes: tuple[ReasonCode, ...] = field(default=(), compare=False)
    """One for each reason. They follow from plugin and reasons, so they are not compared."""

    message: str = field(init=False, repr=False, compare=False)
    """The reasons as the pod's event shows them. They are joined once: every rejected node of every call reads them."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", ", ".join(self.reasons))
        if len(self.reason_codes) != len(self.reasons):
            # A plugin that gives one code for several reasons means all of them.
            one = self.reason_codes[0] if self.reason_codes else ReasonCode.PLUGIN_REASON
            object.__setattr__(self, "reason_codes", (one,) * len(self.reasons))


SUCCESS = Status(Code.SUCCESS)


def unschedulable(plugin: str, *reasons: str, reason_code: ReasonCode = ReasonCode.PLUGIN_REASON) -> Status:
    """The node does not fit now; evictions may change that."""
    return Status(Code.UNSCHEDULABLE, reasons, plugin, (reason_code,))


def unresolvable(plugin: str, *reasons: str, reason_code: ReasonCode = ReasonCode.PLUGIN_REASON) -> Status:
    """The node does not fit, and no eviction will change that."""
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons, plugin, (reason_code,))


def error_status(plugin: str, *reasons: str, reason_code: ReasonCode = ReasonCode.PLUGIN_REASON) -> Status:
    """The plugin cannot decide on the node: the node's data is wrong."""
    return Status(Code.ERROR, reasons, plugin, (reason_code,))
