"""Stores of credentials in memory."""

from __future__ import annotations

from berth.authentication.allow_list import AllowList, parse
from berth.authentication.basic import Passwords, credentials_digest
from berth.authentication.outcomes import CredentialStoreUnavailable
from berth.authentication.stores import AllowListStore, PasswordStore


class InMemoryPasswords(PasswordStore):
    """Counts its reads; `unavailable` makes them fail."""

    def __init__(self, secret: str, previous: str | None = None, previous_until: float = 0.0) -> None:
        self.secret, self.previous, self.previous_until = secret, previous, previous_until
        self.unavailable = False
        self.reads = 0

    def read(self) -> Passwords:
        self.reads += 1
        if self.unavailable:
            raise CredentialStoreUnavailable("the store is unavailable")
        previous = None if self.previous is None else credentials_digest(self.previous)
        return Passwords(credentials_digest(self.secret), previous, self.previous_until)


class InMemoryAllowList(AllowListStore):
    def __init__(self, text: str) -> None:
        self.text = text
        self.unavailable = False
        self.reads = 0

    def read(self) -> AllowList:
        self.reads += 1
        if self.unavailable:
            raise CredentialStoreUnavailable("the store is unavailable")
        return parse(self.text)
