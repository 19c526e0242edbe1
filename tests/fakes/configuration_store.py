"""The applied configuration in memory, beside an in-memory head."""

from __future__ import annotations

from contextlib import suppress

from berth.configuration.store import ConfigurationStore, hash_of
from berth_cli.embedded_store.lease_lock import ConditionFailed, InMemoryItem


class InMemoryConfigurationStore(ConfigurationStore):
    """`item` is the head."""

    def __init__(self, item: InMemoryItem) -> None:
        self._item = item
        self._document: str | None = None
        self._stops_counting = False

    def read(self) -> str | None:
        return self._document

    def counting_is_stopped(self) -> bool:
        return self._stops_counting

    def apply(self, document: str, *, stops_counting: bool = False) -> None:
        self._document = document
        self._stops_counting = stops_counting
        self._item.update(lambda item: True, {"configurationHash": hash_of(document)})

    def restore(self) -> str:
        if self._document is None:
            return ""
        with suppress(ConditionFailed):
            self._item.update(
                lambda item: "configurationHash" not in (item or {}), {"configurationHash": hash_of(self._document)}
            )
        return ""
