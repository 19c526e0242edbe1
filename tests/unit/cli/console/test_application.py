"""Which requests wait for which others."""

from __future__ import annotations

import asyncio
from threading import Event

import pytest

from berth_cli.console.application import THREADS, Query
from tests.unit.cli.console.cases import running

SLOW = "/api/slow"


@pytest.mark.parametrize("path", ["/api/cluster", "/api/pods"])
def test_cluster_document_does_not_wait_for_slow_documents(path: str) -> None:
    """A new page shows the cluster while other requests evaluate, explain or plan."""
    end = Event()

    def slow(_: Query) -> bytes:
        end.wait(30)
        return b"{}"

    console = running(documents={SLOW: slow})
    headers = {"authorization": f"Bearer {console.session()}"}

    async def ask_all() -> int:
        slow_ones = [asyncio.ensure_future(console.asked(SLOW, headers)) for _ in range(THREADS + 1)]
        try:
            status, _, _ = await asyncio.wait_for(console.asked(path, headers), 10)
        finally:
            end.set()
            await asyncio.gather(*slow_ones)
        return status

    assert asyncio.run(ask_all()) == 200
