"""Which configuration is in force: the one that was applied to the cluster, or else the one that was deployed.

The head carries the hash of the applied document, the document lies beside it: a reader fetches it once for each hash.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

from pydantic import ValidationError

from berth.scheduling.configuration.document import BerthConfiguration, complaints
from berth.scheduling.configuration.node_cache import NodeCacheConfiguration
from berth.scheduling.policy import Policy


class ConfigurationStore(ABC):
    """Where the applied document lies. Every method may raise TableUnavailable."""

    @abstractmethod
    def read(self) -> str | None:
        """The applied BerthConfiguration as JSON (a consistent read); None where none was applied."""

    @abstractmethod
    def apply(self, document: str) -> None:
        """Store the document, then let the head point to it. An older release's readers may follow at any time."""

    @abstractmethod
    def restore(self) -> None:
        """Let a head that was made anew point to the applied document again, if there is one."""


class ConfigurationInvalid(Exception):
    """A document does not validate, or is not there. The message names the fields, one after the other."""


def hash_of(document: str) -> str:
    """What the head carries: it changes whenever the document does."""
    return hashlib.sha256(document.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Configured:
    """What follows from a configuration for a verb."""

    policy: Policy
    node_cache: NodeCacheConfiguration

    @classmethod
    def of(cls, configuration: BerthConfiguration) -> Configured:
        """Build the policy."""
        return cls(configuration.policy(), configuration.node_cache)


class Configurations:
    """For one warm environment. Safe to share between threads."""

    def __init__(self, store: ConfigurationStore, deployed: Callable[[], BerthConfiguration]) -> None:
        """`deployed` is asked when it is needed first; it may raise ConfigurationInvalid."""
        self._store = store
        self._deployed = deployed
        self._lock = Lock()
        self._known: tuple[str, Configured] | None = None

    @property
    def last(self) -> Configured:
        """What was in force last: for as long as nobody can say what is now."""
        return self._unconfigured if self._known is None else self._known[1]

    def at(self, configuration_hash: str) -> Configured:
        """What this hash stands for; empty is the deployed one. Raises ConfigurationInvalid and TableUnavailable."""
        known = self._known
        if known is not None and known[0] == configuration_hash:
            return known[1]
        with self._lock:
            if self._known is None or self._known[0] != configuration_hash:
                self._known = configuration_hash, Configured.of(self._read(configuration_hash))
            return self._known[1]

    @cached_property
    def _unconfigured(self) -> Configured:
        return Configured.of(BerthConfiguration())

    def _read(self, configuration_hash: str) -> BerthConfiguration:
        if not configuration_hash:
            return self._deployed()
        document = self._store.read()
        if document is None:
            raise ConfigurationInvalid("the applied configuration is not in the cache table; apply it again")
        # A document of another hash is newer than the head that was read: the next head will say so.
        return parsed(document, "the applied configuration")


def parsed(document: str, where: str) -> BerthConfiguration:
    """The configuration in this JSON. Raises ConfigurationInvalid."""
    try:
        return BerthConfiguration.model_validate_json(document)
    except ValidationError as error:
        raise ConfigurationInvalid("; ".join(f"{where}: {line}" for line in complaints(error))) from error
