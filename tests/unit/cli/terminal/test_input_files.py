"""Unknown names: the message suggests a similar name, or lists the existing names."""

from __future__ import annotations

import pytest

from berth_cli.terminal.input_files import NoSuchNode


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        pytest.param(["worker-1", "gpu-1"], "the dump has no node wrker-1; did you mean worker-1?", id="a close name"),
        pytest.param(["a", "b"], "the dump has no node wrker-1; it has a, b", id="no close name"),
        pytest.param(list("abcdefg"), "the dump has no node wrker-1; it has a, b, c, d, e, and 2 more", id="many"),
        pytest.param([], "the dump has no node wrker-1; it has none", id="no node at all"),
    ],
)
def test_error_suggests_existing_names(nodes: list[str], message: str) -> None:
    assert NoSuchNode("the dump", "wrker-1", nodes).message == message
