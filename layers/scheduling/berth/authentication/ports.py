"""The ports to the stores of credentials."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol, TypeVar

from berth.authentication.allow_list import AllowList
from berth.authentication.basic import Passwords

T = TypeVar("T")


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


class Wait(Protocol):
    """How long a request waits for a read of a store."""

    def __call__(self, read: Callable[[], T]) -> T:
        """What `read` returns or raises; or another exception, where that takes too long. `read` may go on then."""
        ...


def wait_to_the_end(read: Callable[[], T]) -> T:
    """As long as the store takes."""
    return read()
