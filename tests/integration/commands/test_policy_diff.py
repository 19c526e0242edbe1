"""`berth policy diff` from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from berth_cli.main import main
from tests.conftest import PROJECT
from tests.unit.cli.placement.objects import Object, deployed, node, pod

EXAMPLE = PROJECT / "examples" / "policy-ci"
FILES = (str(EXAMPLE / "berth.yaml"), str(EXAMPLE / "proposed.yaml"))
DUMP = ("--dump", str(EXAMPLE / "dump.yaml"))
RESERVED = "node(s) were reserved for pods that ask for their resources"

Write = Callable[..., str]


@pytest.fixture
def files(tmp_path: Path) -> Write:
    """Return a function that writes a dump of objects or, for a .yaml name, a single document."""

    def write(name: str, *content: object) -> str:
        path = tmp_path / name
        path.write_text(json.dumps(content[0] if name.endswith(".yaml") else {"kind": "List", "items": content}))
        return str(path)

    return write


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["policy", "diff", *arguments], input=stdin, prog_name="berth")


def test_names_the_rules_and_the_pods_that_lose_their_node() -> None:
    found = json.loads(run(*FILES, *DUMP, "-o", "json").stdout)
    assert (found["judged"], found["newlyPending"], found["moved"]) == (11, 2, 1)
    assert [(each["name"], each["effect"]) for each in found["pods"]] == [
        ("web-5d9c-g", "newly-pending"),
        ("web-5d9c-h", "newly-pending"),
        ("web-5d9c-f", "moved"),
    ]
    assert found["rules"] == {
        "newlyPending": [
            {"plugin": "NodeResourcesFit", "code": "InsufficientResource", "reason": "Insufficient cpu", "pods": 2},
            {"plugin": "ResourceSegregation", "code": "NodeReserved", "reason": RESERVED, "pods": 2},
        ],
        "moved": [{"plugin": "ResourceSegregation", "code": "NodeReserved", "reason": RESERVED, "pods": 1}],
    }
    rejection = {"plugin": "ResourceSegregation", "code": "NodeReserved", "reason": RESERVED}
    assert found["pods"][2]["cause"] == {"node": "gpu-2", **rejection}
    assert {"nodes": 2, **rejection} in found["pods"][0]["after"]["rules"]
    assert found["reasonCodesVersion"] == 1


def test_identical_policy_does_not_change_any_pod() -> None:
    done = run(FILES[0], FILES[0], *DUMP)
    assert done.exit_code == 0
    assert done.stdout.splitlines()[0].endswith(
        "11 pods placed again, from empty nodes: 0 newly pending, 0 moved, 0 newly placed"
    )


def judged(*arguments: str) -> int:
    found: int = json.loads(run(*FILES, *arguments, "-o", "json").stdout)["judged"]
    return found


@pytest.mark.parametrize(
    "stays",
    [
        pytest.param(pod("agent", "a", "DaemonSet/agent"), id="of a DaemonSet"),
        pytest.param(pod("static", "a", "Node/a"), id="static"),
        pytest.param({**deployed("done", "a"), "status": {"phase": "Succeeded"}}, id="has ended"),
        pytest.param(pod("leaving", "a", metadata={"deletionTimestamp": "t"}), id="is being deleted"),
        pytest.param(pod("batch", "a", schedulerName="batch"), id="of another scheduler"),
    ],
)
def test_does_not_move_pods_that_the_scheduler_does_not_place(files: Write, stays: Object) -> None:
    assert judged("--dump", files("dump.json", node("a"), deployed("web-1", "a"), stays)) == 1


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        pytest.param(
            [pod("web", "a", schedulerName="berth"), pod("job", "a", schedulerName="batch")],
            "2 pods of another scheduler (batch, berth): give --scheduler-name batch, or name the scheduler in "
            "`profiles` of the policy",
            id="of other schedulers",
        ),
        pytest.param([pod("agent", "a", "DaemonSet/agent")], "no pod that a scheduler places", id="of DaemonSets"),
    ],
)
def test_comparison_without_pods_exits_with_2_and_names_the_cause(
    files: Write, objects: list[Object], message: str
) -> None:
    done = run(*FILES, "--dump", files("dump.json", node("a"), *objects))
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"dump.json: no pods to compare: {message}" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param((FILES[0], "missing.yaml", *DUMP), "missing.yaml: No such file or directory", id="missing policy"),
        pytest.param((FILES[0], FILES[1], "--dump", FILES[0]), "has no nodes", id="not a dump"),
        pytest.param((*FILES, *DUMP, "--max-moved", "some"), "neither a number of pods nor per cent", id="bad limit"),
        pytest.param(("-", "-", *DUMP), "only one file can come from standard input", id="standard input twice"),
    ],
)
def test_bad_input_exits_with_2(arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_invalid_policy_exits_with_2_and_names_the_line() -> None:
    done = run("-", FILES[1], *DUMP, stdin="profile: full\nprofil: x\n")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "standard input:2: profil: unknown field" in done.stderr
