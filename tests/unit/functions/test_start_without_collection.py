"""A cold start without garbage collection: nothing that a function imports is garbage."""

from __future__ import annotations

import pytest

from tests.builders.function_process import KEYS, run
from tests.conftest import PROJECT

pytestmark = pytest.mark.long

HANDLERS = sorted(PROJECT.glob("functions/*/app.py"))
PROGRAM = """
import gc, importlib.util, sys
collections = lambda: sum(each["collections"] for each in gc.get_stats())
spec = importlib.util.spec_from_file_location("app", sys.argv[1])
before = collections()
spec.loader.exec_module(importlib.util.module_from_spec(spec))
print(collections() - before, gc.isenabled(), gc.get_freeze_count() > 10_000)
"""
AT_MOST = 5
"""Collections of the youngest, before the handler's own first lines have run."""


@pytest.mark.parametrize("handler", HANDLERS, ids=[handler.parent.name for handler in HANDLERS])
def test_import_runs_no_collections(handler: object) -> None:
    [line] = run("-c", PROGRAM, str(handler), **KEYS)
    collections, enabled, frozen = line.split()
    assert int(collections) <= AT_MOST
    assert (enabled, frozen) == ("True", "True")
