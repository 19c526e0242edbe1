"""What `make bench-lambda` runs is what the documents say of it."""

from __future__ import annotations

import re

from tests.bench.lambda_share import FUNCTIONS
from tests.conftest import PROJECT


def test_documents_name_the_functions_that_are_run() -> None:
    page = (PROJECT / "docs/reference/capacity.md").read_text()
    [said] = re.findall(r"`make bench-lambda` runs ([^.]*) with the share", page)
    assert {name for name in re.findall(r"\w+", said) if name not in ("and", "the")} == FUNCTIONS.keys()
