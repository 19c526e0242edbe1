"""Which dropped nodes the scheduler is told that preemption cannot help on."""

from __future__ import annotations

from enum import StrEnum


class Unresolvable(StrEnum):
    """ALWAYS: all of them, as kube-scheduler 1.36 needs it (fact 15). AS_PLUGINS_SAY: for a scheduler that asks
    extenders in preemption, too; before that it brings a pod that is tried without end.
    """

    ALWAYS = "always"
    AS_PLUGINS_SAY = "as-plugins-say"
