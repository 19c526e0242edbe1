"""`berth simulate --jsonl`: one case a line on stdin, one answer a line on stdout. What programs ask, see `case`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import BinaryIO

import orjson

from berth_cli.simulate import case


def run(lines: Iterable[bytes], out: BinaryIO) -> None:
    """Answer each line, in order and at once: who asks may wait for one answer before the next question.

    A line that is no JSON gets an answer, too: one with an `error`.
    """
    for line in lines:
        out.write(orjson.dumps(_answer(line), option=orjson.OPT_APPEND_NEWLINE))
        out.flush()


def _answer(line: bytes) -> case.Answer:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return case.failed(f"the line is no JSON: {error}")
    return case.answer(found)


if __name__ == "__main__":
    run(sys.stdin.buffer, sys.stdout.buffer)
