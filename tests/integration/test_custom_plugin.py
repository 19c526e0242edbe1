"""The examples of custom plugins, run as their pages say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.builders.events import http_event
from tests.builders.http_calls import Caller
from tests.builders.requests import body_of, cache_mode, victims_by_uid
from tests.conftest import PROJECT

EXAMPLE = PROJECT / "examples" / "custom-plugin"
BERTH = [sys.executable, "-c", "from berth_cli.main import main; main(prog_name='berth')"]
FILES = ["--cluster", "cluster.yaml", "--config", "configuration.yaml", "--plugins", "."]
ENVIRONMENT = {**os.environ, "PYTHONUNBUFFERED": "1"}


@pytest.mark.long
@pytest.mark.parametrize("name", ["custom-plugin", "zones-and-racks"])
def test_tests_of_the_example_pass(name: str) -> None:
    """The page says to run the tests inside a clone of Berth, whose own pytest settings must not apply."""
    done = subprocess.run(
        [Path(sys.executable).with_name("pytest"), "-q", "-p", "no:cacheprovider"],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT / "examples" / name,
    )
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout


@contextmanager
def served(directory: Path) -> Iterator[Caller]:
    """Run `berth serve` with the files of this directory."""
    process = subprocess.Popen(
        [*BERTH, "serve", *FILES, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=ENVIRONMENT,
        cwd=directory,
    )
    try:
        assert process.stdout is not None
        found = next(filter(None, (re.search(r"127\.0\.0\.1:(\d+)/", line) for line in process.stdout)))
        caller = Caller(int(found[1]))
        yield caller
        caller.close()
    finally:
        process.kill()
        process.communicate()


def pod_of(label: str, team: str) -> dict[str, object]:
    return {"metadata": {"name": "p", "namespace": "ml", "uid": "u", "labels": {label: team}}, "spec": {}}


NODES = ["node-blue", "node-green", "node-shared"]


@pytest.mark.long
def test_served_extender_uses_the_custom_plugin() -> None:
    pod = pod_of("example.com/team", "blue")
    with served(EXAMPLE) as caller:
        answer = caller.post("/scheduler/filter", body_of(cache_mode(NODES, pod))).json
        assert answer["NodeNames"] == ["node-blue", "node-shared"]
        assert answer["FailedAndUnresolvableNodes"] == {"node-green": "node(s) belonged to another team"}
        answer = caller.post("/scheduler/prioritize", body_of(cache_mode(answer["NodeNames"], pod))).json
        assert answer == [{"Host": "node-blue", "Score": 10}, {"Host": "node-shared", "Score": 0}]


FAILING = """
import sys
from berth.scheduling.framework import FilterPlugin, ScorePlugin, SUCCESS

class Halves(FilterPlugin, ScorePlugin):
    def filter(self, pod, node):
        if pod.labels.get("team") == "black":
            sys.exit(3)
        return None if pod.labels.get("team") == "red" else SUCCESS

    def score(self, pod, node):
        return 0.5 if pod.labels.get("team") == "green" else 1
"""


FAILING_NAME = "berth_plugins.failing_for_one:Halves"
FAILING_DOCUMENT = json.dumps(
    {
        "profile": "mine",
        "definitions": {"mine": {"plugins": {"enabled": [{"name": FAILING_NAME}]}}},
        "nodeCache": {"maxStaleness": 86_400},
    }
)


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a directory with the plugin and its configuration, which this process can import until the test ends."""
    (tmp_path / "berth_plugins").mkdir()
    (tmp_path / "berth_plugins" / "failing_for_one.py").write_text(FAILING)
    (tmp_path / "configuration.yaml").write_text(FAILING_DOCUMENT)
    (tmp_path / "cluster.yaml").write_bytes((EXAMPLE / "cluster.yaml").read_bytes())
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for module in [each for each in sys.modules if each.startswith("berth_plugins")]:
        del sys.modules[module]


@pytest.mark.parametrize(
    ("verb", "team", "answer"),
    [
        pytest.param("filter", "red", "in filter on node n10: it returned None (NoneType), not a", id="filter"),
        pytest.param("filter_onlyone", "green", "in score on node n10: it returned 0.5 (float), not an", id="best"),
        pytest.param("prioritize", "green", "in score on node n10: it returned 0.5 (float), not an", id="score"),
    ],
)
@pytest.mark.usefixtures("failing")
def test_deployed_verb_fails_only_for_the_pod_on_which_the_plugin_fails(
    verb: str, team: str, answer: str, load_function: Callable[..., Callable[..., Any]]
) -> None:
    handler = load_function(verb, {"BERTH_CONFIGURATION": FAILING_DOCUMENT})
    for label, wanted in ((team, f"pod ml/p: plugin {FAILING_NAME} failed {answer}"), ("blue", None)):
        request = http_event(body_of(cache_mode(["n10", "n5"], pod_of("team", label))), f"POST /scheduler/{verb}")
        body = json.loads(handler(request, None)["body"])
        error = body.get("Error", "") if isinstance(body, dict) else ""
        assert error.startswith(wanted) if wanted else not error


@pytest.mark.usefixtures("failing")
def test_deployed_preempt_does_not_evict_if_a_plugin_fails(load_function: Callable[..., Callable[..., Any]]) -> None:
    handler = load_function("preempt", {"BERTH_CONFIGURATION": FAILING_DOCUMENT})
    for team, status in (("black", 500), ("blue", 200)):
        request = body_of(victims_by_uid({"n10": []}, pod=pod_of("team", team)))
        assert handler(http_event(request, "POST /scheduler/preempt"), None)["statusCode"] == status
