"""Announcements for tests in which no pod is announced."""

from __future__ import annotations

import pytest

from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindResult
from berth.extender.ports import Announced, Announcements, Binding, FoundPod


class NoAnnouncements(Announcements):
    """Fails at every call."""

    def announce(self, binding: Binding, found: FoundPod, deadline: Deadline) -> Announced | BindResult | None:
        pytest.fail("announced")

    def withdraw(self, announced: Announced) -> None:
        pytest.fail("withdrawn")
