"""Announcements for tests in which no pod is announced."""

from __future__ import annotations

import pytest

from berth.bind.announcing import Announcements
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindResult
from berth.ledger.announcements import Announcement
from berth.pods import Binding, FoundPod


class NoAnnouncements(Announcements):
    def __init__(self) -> None:
        pass

    def announce(self, binding: Binding, found: FoundPod, deadline: Deadline) -> Announcement | BindResult | None:
        pytest.fail("announced")

    def withdraw(self, announced: Announcement) -> None:
        pytest.fail("withdrawn")
