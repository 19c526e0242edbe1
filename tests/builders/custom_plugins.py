"""A custom plugin that fails for one pod, and policies with it."""

from __future__ import annotations

from collections.abc import Hashable

from berth.scheduling.framework import SUCCESS, FilterPlugin, Status
from berth.scheduling.framework.profile import Scale
from berth.scheduling.framework.shipped_profiles import build
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.custom_plugins.checked_plugin import checked_plugin
from berth.scheduling.policy import Exemption, Policy

PATH = "berth_plugins.mine:FailsForOne"


class FailsForOne(FilterPlugin):
    """Divides by zero for the pod `bad`. It reads pods, so bind judges by it too."""

    name = "FailsForOne"

    def shape(self, pod: Pod) -> Hashable:
        return pod.name

    def filter(self, state: Pod, node: NodeInfo) -> Status:
        if state.name == "bad":
            raise ZeroDivisionError("division by zero")
        return SUCCESS


def failing_policy() -> Policy:
    """Every node for every pod but `bad`."""
    return Policy(build("mine", Scale.TOTALS, [(checked_plugin(FailsForOne, PATH)(), 1)]), Exemption())
