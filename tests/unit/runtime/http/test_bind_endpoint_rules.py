"""The adapters of bind: how soon a warm environment decides by another document."""

from __future__ import annotations

from berth.runtime.cluster_settings import BindSettings
from berth.runtime.http.bind_endpoint import rules_of
from berth.runtime.tables import tables_opened_by
from berth_cli.server.store.embedded_store import EmbeddedStore

SETTINGS = BindSettings(
    cache_table="memory", ledger_table="memory", in_cluster=True, configuration='{"profile": "label-priority"}'
)


def test_uses_an_applied_document_at_once_in_the_process_of_its_store() -> None:
    store = EmbeddedStore()
    with tables_opened_by(store.open):
        current = rules_of(SETTINGS)
    assert current().announcements is None
    store.configuration.apply('{"profile": "full"}')
    assert current().announcements is not None
