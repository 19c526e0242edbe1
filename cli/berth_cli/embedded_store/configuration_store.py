"""The applied configuration in memory, beside an in-memory head."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from threading import Lock

from berth.configuration.store import VERSIONS, AppliedVersion, ConfigurationStore, hash_of
from berth_cli.embedded_store.lease_lock import ConditionFailed, InMemoryItem


class InMemoryConfigurationStore(ConfigurationStore):
    """Safe to share between threads. There is one copy: no part of this memory is lost alone."""

    def __init__(self, item: InMemoryItem) -> None:
        """`item` is the head."""
        self._item = item
        self._lock = Lock()
        self._document: str | None = None
        self._plugin_version = ""
        self._stops_counting = False
        self._versions: deque[AppliedVersion] = deque(maxlen=VERSIONS)

    def read(self) -> str | None:
        with self._lock:
            return self._document

    def counting_is_stopped(self) -> bool:
        with self._lock:
            return self._stops_counting

    def history(self) -> tuple[AppliedVersion, ...]:
        with self._lock:
            return tuple(reversed(self._versions))

    def apply(
        self,
        document: str,
        *,
        stops_counting: bool = False,
        at: float = 0.0,
        note: str = "",
        plugin_version: str = "",
    ) -> None:
        with self._lock:
            newest = self._versions[-1].version if self._versions else 0
            self._versions.append(AppliedVersion(newest + 1, document, at, note, plugin_version))
            self._document, self._plugin_version = document, plugin_version
            self._stops_counting = stops_counting
            self._item.update(lambda item: True, _pointing_to(document, plugin_version))

    def restore(self) -> str:
        with self._lock:
            if self._document is not None:
                with suppress(ConditionFailed):
                    self._item.update(
                        lambda item: "configurationHash" not in (item or {}),
                        _pointing_to(self._document, self._plugin_version),
                    )
        return ""


def _pointing_to(document: str, plugin_version: str) -> dict[str, object]:
    return {"configurationHash": hash_of(document), "pluginVersion": plugin_version}
