"""Options, exit statuses and messages of `berth bench`."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from berth_cli.bench import target
from berth_cli.doctor.access.endpoint import HttpResponse, NoResponse
from berth_cli.doctor.inputs import Inputs
from berth_cli.doctor.options import Options
from berth_cli.main import main
from tests.fakes.doctor import FakeEndpoint, answered


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["bench", *arguments], prog_name="berth")


def installed(monkeypatch: pytest.MonkeyPatch, answer: HttpResponse | NoResponse) -> FakeEndpoint:
    """Have the command measure a fake endpoint."""
    endpoint = FakeEndpoint(verbs=dict.fromkeys(("filter", "prioritize"), answer))

    def read_inputs(_: Options) -> Inputs:
        return Inputs(endpoint=endpoint)

    monkeypatch.setattr(target, "read_inputs", read_inputs)
    return endpoint


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([], "give --stack NAME or --url URL", id="no target"),
        pytest.param(["--url", "http://a/b", "--calls", "0"], "'--calls'", id="no calls"),
        pytest.param(["--url", "http://a/b", "--burst", "201"], "'--burst'", id="more calls at once than allowed"),
        pytest.param(["--url", "http://a/b", "--verb", "Filter"], "'--verb'", id="unknown verb"),
        pytest.param(["--url", "ftp://a"], "--url", id="not http"),
    ],
)
def test_usage_errors_exit_with_2(arguments: list[str], message: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def test_measures_filter_and_prioritize_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = installed(monkeypatch, answered({"NodeNames": []}))
    done = run("--url", "http://127.0.0.1:1/scheduler", "--calls", "2", "-o", "json")
    assert done.exit_code == 0, done.output
    assert [name for name, _ in endpoint.calls] == ["filter"] * 3 + ["prioritize"] * 3
    assert [each["warm"]["calls"] for each in orjson.loads(done.stdout)["verbs"]] == [2, 2]


def test_exits_with_1_when_a_call_was_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, NoResponse("connection refused or blocked"))
    done = run("--url", "http://127.0.0.1:1/scheduler")
    assert done.exit_code == 1
    assert "filter: 1 no answer: connection refused or blocked" in done.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("kind: Pod\n", "it has no spec", id="no spec"),
        pytest.param("a: [", "not a pod manifest", id="not YAML"),
        pytest.param("- 1\n", "it has no spec", id="a list"),
    ],
)
def test_names_the_file_of_a_bad_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    installed(monkeypatch, answered({"NodeNames": []}))
    file = tmp_path / "pod.yaml"
    file.write_text(text)
    done = run("--url", "http://127.0.0.1:1/scheduler", "--pod", str(file))
    assert done.exit_code == 1
    assert str(file) in done.stderr
    assert message in done.stderr


def test_the_pod_gets_a_name_of_no_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = installed(monkeypatch, answered({"NodeNames": []}))
    file = tmp_path / "pod.yaml"
    file.write_text("metadata: {name: mine, namespace: team, uid: u, labels: {a: b}}\nspec: {priority: 7}\n")
    assert run("--url", "http://127.0.0.1:1/scheduler", "--calls", "1", "--pod", str(file)).exit_code == 0
    sent = orjson.loads(endpoint.calls[0][1])["Pod"]
    assert (sent["metadata"]["name"], sent["metadata"]["namespace"]) == ("berth-bench", "team")
    assert sent["metadata"]["uid"] != "u"
    assert sent["spec"] == {"priority": 7}
