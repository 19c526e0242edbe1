"""A line in, a line out."""

from __future__ import annotations

import subprocess
import sys
from io import BytesIO

import orjson
import pytest

from berth_cli.simulate import jsonl
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with


def case(name: str) -> bytes:
    return orjson.dumps({"objects": [node_with(name)], "pod": pod_with()}) + b"\n"


def answers(*lines: bytes) -> list[dict[str, object]]:
    out = BytesIO()
    jsonl.run(lines, out)
    return [orjson.loads(line) for line in out.getvalue().splitlines()]


def test_each_line_is_answered_in_order() -> None:
    assert [list(answer["verdicts"]) for answer in answers(case("a"), case("b"))] == [["a"], ["b"]]  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"\n", id="nothing"),
        pytest.param(b"{\n", id="half an object"),
        pytest.param(b"\xff\n", id="no UTF-8"),
        pytest.param(b"NaN\n", id="not a number"),
        pytest.param(b"[" * 100_000 + b"\n", id="too deep"),
    ],
)
def test_a_line_that_is_no_json_is_answered_with_an_error(line: bytes) -> None:
    bad, good = answers(line, case("a"))
    assert str(bad["error"]).startswith("the line is no JSON: ")
    assert bad.keys() == good.keys()
    assert good["error"] is None


def test_as_a_program_it_answers_before_it_is_asked_again() -> None:
    command = [sys.executable, "-m", "berth_cli.simulate.jsonl"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdin
        assert program.stdout
        for name in ("a", "b"):
            program.stdin.write(case(name))
            program.stdin.flush()
            assert list(orjson.loads(program.stdout.readline())["verdicts"]) == [name]
        program.stdin.close()
        assert program.wait() == 0
