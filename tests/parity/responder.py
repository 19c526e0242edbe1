"""Programs that answer each line on stdin with one line on stdout: the oracle and Berth."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, Self

import orjson

Case = dict[str, Any]
Answer = dict[str, Any]


class ResponderFailed(Exception):
    """The program cannot be started, has ended, or writes invalid JSON."""


class Responder:
    """A running program that answers cases in their order."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise ResponderFailed(f"cannot run {command[0]}: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    def answer(self, case: Case) -> Answer:
        return self.answer_all([orjson.dumps(case)])[0]

    def answer_all(self, lines: Sequence[bytes]) -> list[Answer]:
        """Return the answers to all cases, given as JSON. A thread writes the cases, because a pipe holds few."""
        writer = threading.Thread(target=self._write, args=(lines,))
        writer.start()
        answers = [self._read(index) for index in range(len(lines))]
        writer.join()
        return answers

    def _write(self, lines: Iterable[bytes]) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            for line in lines:
                stdin.write(line + b"\n")
            stdin.flush()
        except BrokenPipeError:
            pass  # the reader of the answers detects the end of the program

    def _read(self, index: int) -> Answer:
        stdout = self._process.stdout
        assert stdout is not None
        line = stdout.readline()
        if not line:
            status = self._process.wait()
            raise ResponderFailed(f"{self._command[0]} ended with status {status} at case {index} of a batch")
        try:
            answer = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise ResponderFailed(f"{self._command[0]} does not write JSON: {line[:200]!r}") from error
        if not isinstance(answer, dict):
            raise ResponderFailed(f"{self._command[0]} does not write objects: {line[:200]!r}")
        return answer
