"""Logs on a terminal and in a pipe."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from threading import Event

import orjson
import pytest

from berth_cli.terminal.logs import ReadableStream, end_without_reader, make_readable_on_terminal, say


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def handler() -> Iterator[logging.StreamHandler[StringIO]]:
    logger, found = logging.getLogger("berth"), logging.StreamHandler(StringIO())
    logger.addHandler(found)
    yield found
    logger.removeHandler(found)


def test_functions_log_readable_lines_on_a_terminal_only(handler: logging.StreamHandler[StringIO]) -> None:
    others = [each for each in logging.getLogger("berth").handlers if each is not handler]
    before = [(each, each.stream) for each in others if isinstance(each, logging.StreamHandler)]
    make_readable_on_terminal(StringIO())
    in_pipe: object = type(handler.stream)
    make_readable_on_terminal(Terminal())
    on_terminal: object = type(handler.stream)
    assert (in_pipe, on_terminal) == (StringIO, ReadableStream)
    for each, stream in before:
        each.setStream(stream)


def test_operator_message_is_text_on_a_terminal_and_json_in_a_pipe() -> None:
    terminal, pipe = Terminal(), StringIO()
    for output in (terminal, pipe):
        say("berth.yaml is applied: profile full", output)
    assert terminal.getvalue() == "berth.yaml is applied: profile full\n"
    found = orjson.loads(pipe.getvalue())
    assert (found["level"], found["message"]) == ("INFO", "berth.yaml is applied: profile full")


@pytest.mark.parametrize("closed", [0, 1])
def test_process_ends_when_the_reader_of_an_output_is_gone(closed: int, tmp_path: Path) -> None:
    """Later writes succeed, so that a call is answered until the process has ended."""
    readers, writers = zip(*(os.pipe() for _ in range(2)), strict=True)
    ended = Event()
    with (tmp_path / "log").open("w") as file:
        end_without_reader([*writers, file.fileno()], ended.set)
        os.write(writers[closed], b"x")
        assert not ended.is_set()
        os.close(readers[closed])
        assert ended.wait(10)
        os.write(writers[closed], b"x")
        os.write(file.fileno(), b"y")
    assert (tmp_path / "log").read_text() == "y"
    for each in (*writers, readers[1 - closed]):
        os.close(each)
