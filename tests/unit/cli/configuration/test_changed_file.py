"""A changed file of `berth serve --config` is tried on the verbs, and applied without a restart."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.configuration.changed_file import ConfigurationFile, Handler, local_functions
from berth_cli.configuration.trial import Invoke
from berth_cli.configuration.warnings import configuration_warnings
from berth_cli.server.store.cache_table import InMemoryConfigurationStore
from berth_cli.server.store.lease_lock import InMemoryItem

LOADS = {"body": '{"berthVersion": "x", "error": ""}'}
REFUSES = {"body": '{"berthVersion": "x", "error": "no such module"}'}
FULL = '{"profile":"full"}'
Warnings = Callable[[BerthConfiguration], Iterable[object]]


class Serving:
    def __init__(self, directory: Path, answer: object = LOADS, warnings: Warnings = lambda _: ()) -> None:
        self.path = directory / "berth.yaml"
        self.path.write_text("profile: label-priority\n")
        self.store = InMemoryConfigurationStore(InMemoryItem())
        self.lines: list[str] = []
        invoke: Invoke = lambda _: answer  # noqa: E731
        self.problem = ""
        self.file = ConfigurationFile(
            self.path, False, self.store, {"filter": invoke}, self.lines.append, warnings, note=self._note
        )

    def _note(self, problem: str) -> None:
        self.problem = problem

    def change(self, text: str) -> None:
        self.path.write_text(text)
        self.file.poll()


def test_applies_a_changed_file_once(tmp_path: Path) -> None:
    serving = Serving(tmp_path)
    serving.file.poll()
    assert serving.store.read() is None
    serving.change("profile: full\n")
    serving.file.poll()
    assert serving.store.read() == FULL
    assert len(serving.store.history()) == 1
    assert serving.lines == ["filter: the document can be loaded", f"{serving.path} is applied: profile full"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("profile: x", ":1: profile: Input should be", id="an invalid document"),
        pytest.param("profile: [", ":1: ", id="invalid YAML"),
        pytest.param(
            "profile: managed-resources\nmanagedResources: [{name: example.com/slot}]", "needs a restart", id="counting"
        ),
    ],
)
def test_keeps_the_previous_document_if_the_changed_one_is_rejected(tmp_path: Path, text: str, line: str) -> None:
    serving = Serving(tmp_path)
    serving.change("profile: full")
    serving.change(text)
    assert serving.store.read() == FULL
    assert any(line in each for each in (*serving.lines, serving.problem))
    assert serving.problem.endswith("the document before stays in force")
    serving.file.poll()
    assert serving.problem
    serving.change("profile: resource-segregation")
    assert serving.store.read() == '{"profile":"resource-segregation"}'
    assert not serving.problem


def test_warns_about_settings_without_effect_in_a_changed_file(tmp_path: Path) -> None:
    serving = Serving(tmp_path, warnings=configuration_warnings)
    serving.change("profile: full\npluginConfig: [{name: NodePriorityLabel, args: {label: disk}}]\n")
    assert any(line.startswith(f"{serving.path}: warning: pluginConfig[0]") for line in serving.lines)
    assert serving.lines[-1] == f"{serving.path} is applied: profile full"


def test_rejects_document_that_a_verb_cannot_load(tmp_path: Path) -> None:
    serving = Serving(tmp_path, REFUSES)
    serving.change("profile: full")
    assert serving.store.read() is None
    assert serving.lines == []
    assert serving.problem.endswith("is not applied: filter: no such module; the document before stays in force")


def test_waits_for_a_file_that_is_being_replaced(tmp_path: Path) -> None:
    serving = Serving(tmp_path)
    serving.path.unlink()
    serving.file.poll()
    serving.change("")
    assert serving.lines == []
    serving.change("profile: full")
    assert serving.store.read() == FULL
    assert not serving.problem


def test_reports_a_missing_file_until_the_file_is_back(tmp_path: Path) -> None:
    serving = Serving(tmp_path)
    text = serving.path.read_text()
    serving.path.unlink()
    serving.file.poll()
    assert not serving.problem
    serving.file.poll()
    assert "is not applied: it is missing, empty or unreadable" in serving.problem
    serving.change(text)
    assert not serving.problem


def test_trial_calls_only_routes_of_verbs() -> None:
    handlers: dict[str, Handler] = {
        "POST /scheduler/filter": lambda event, context: (event, context),
        "GET /healthz": lambda *_: None,
    }
    functions = local_functions(handlers)
    assert {verb: invoke({"a": 1}) for verb, invoke in functions.items()} == {"filter": ({"a": 1}, None)}
