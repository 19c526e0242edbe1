"""The template, read once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.deployment.template import read_template


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return read_template()
