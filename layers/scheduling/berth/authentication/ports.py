"""The ports to the stores of credentials."""

from __future__ import annotations

from abc import ABC, abstractmethod

from berth.authentication.allow_list import AllowList
from berth.authentication.basic import Passwords


class CredentialStoreUnavailable(Exception):
    """The store cannot be read, or its content is invalid. The message names cause and remedy, and no secret."""


class PasswordStore(ABC):
    """The current password and the previous one."""

    @abstractmethod
    def read(self) -> Passwords:
        """Read them, uncached, with one or two calls. Raises CredentialStoreUnavailable."""


class AllowListStore(ABC):
    """The allow-list of client certificates."""

    @abstractmethod
    def read(self) -> AllowList:
        """Read it, uncached, with one call. Raises CredentialStoreUnavailable."""
