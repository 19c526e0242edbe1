"""The applied configuration in memory, beside an in-memory head."""

from __future__ import annotations

from berth.configuration.store import ConfigurationStore, hash_of
from berth_cli.embedded_store.lease_lock import ConditionFailed, InMemoryItem


class InMemoryConfigurationStore(ConfigurationStore):
    """`item` is the head."""

    def __init__(self, item: InMemoryItem) -> None:
        self._item = item
        self._document: str | None = None

    def read(self) -> str | None:
        return self._document

    def apply(self, document: str) -> None:
        self._document = document
        self._item.update(lambda item: True, {"configurationHash": hash_of(document)})

    def restore(self) -> None:
        if self._document is None:
            return
        try:
            self._item.update(
                lambda item: "configurationHash" not in (item or {}), {"configurationHash": hash_of(self._document)}
            )
        except ConditionFailed:
            return
