"""Where the record of who may call is kept."""

from __future__ import annotations

from abc import ABC, abstractmethod

from berth.authentication.allow_list import AllowList
from berth.authentication.basic import Passwords


class RecordUnavailable(Exception):
    """The record cannot be read, or is not what it has to be. The message names cause and remedy, and no secret."""


class PasswordRecord(ABC):
    """The password that counts, and the one before it."""

    @abstractmethod
    def read(self) -> Passwords:
        """As it is now: no cache. One or two calls. Raises RecordUnavailable."""


class AllowListRecord(ABC):
    """The certificates that may call."""

    @abstractmethod
    def read(self) -> AllowList:
        """As it is now: no cache. One call. Raises RecordUnavailable."""
