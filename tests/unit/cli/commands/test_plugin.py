"""`berth plugin check`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from berth_cli.main import main
from tests.conftest import PROJECT

EXAMPLE = PROJECT / "examples" / "custom-plugin"
TEAM_NODES = "berth_plugins.team_nodes:TeamNodes"

MODULE = """
import sys
from berth.scheduling.framework import NODES_ONLY, FilterPlugin, ScorePlugin, SUCCESS, unschedulable
from berth.scheduling.framework import ClusterFilter, ClusterFilterPlugin
from berth.scheduling.plugins.arguments import Args as PluginArgs

class Sound(FilterPlugin):
    reads = NODES_ONLY

    def filter(self, pod, node):
        return SUCCESS

class NeedsLicence(Sound):
    class Args(PluginArgs):
        licence: str = ""

    def __init__(self, args):
        if not args.licence:
            raise RuntimeError("no licence")

class Interrupts(Sound):
    def filter(self, pod, node):
        raise KeyboardInterrupt

class SkipsFilter(ClusterFilter):
    @property
    def skips(self):
        return {}["team"]

    def filter(self, node):
        return SUCCESS

    def updated_to(self, snapshot, delta):
        return self, None

    def with_pod(self, pod, node):
        return self

    def without_pod(self, pod, node):
        return self

class Skips(ClusterFilterPlugin):
    def pre_filter(self, pod, snapshot):
        return SkipsFilter()

class ForgetsShape(Sound):
    class Args(PluginArgs):
        label: str = "kubernetes.io/nothing"

    def __init__(self, args):
        self._label = args.label

    def shape(self, pod):
        return None

    def filter(self, pod, node):
        return unschedulable("Mine", "node(s) were full") if self._label in pod.labels else SUCCESS
"""


@pytest.fixture
def plugins(tmp_path: Path) -> Iterator[Path]:
    """A directory with the package, gone after the test."""
    folder = tmp_path / "plugins" / "berth_plugins"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "mine.py").write_text(MODULE)
    yield from _forgotten(folder.parent)


@pytest.fixture
def example() -> Iterator[Path]:
    yield from _forgotten(EXAMPLE)


def _forgotten(folder: Path) -> Iterator[Path]:
    before = [*sys.path]
    yield folder
    sys.path[:] = before
    for name in [each for each in sys.modules if each.startswith("berth_plugins")]:
        del sys.modules[name]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)], prog_name="berth")


def document(folder: Path, *names: str, **config: object) -> Path:
    enabled = [{"name": f"berth_plugins.mine:{name}"} for name in names]
    configs = [{"name": enabled[0]["name"], "args": config}] if config else []
    definition = {"plugins": {"enabled": enabled}, "pluginConfig": configs}
    path = folder / "berth.yaml"
    path.write_text(yaml.safe_dump({"definitions": {"mine": definition}, "profile": "mine"}))
    return path


def test_check_passes_for_a_sound_plugin(example: Path) -> None:
    files = ["--cluster", EXAMPLE / "cluster.yaml", "--config", EXAMPLE / "configuration.yaml"]
    done = run("plugin", "check", TEAM_NODES, "--plugins", example, *files)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(f"{TEAM_NODES} keeps every rule on 3 nodes and 2 pods of {EXAMPLE}/cluster.yaml; ")


def test_warns_about_plugin_that_rejects_no_node(plugins: Path) -> None:
    check = ["plugin", "check", "berth_plugins.mine:Sound", "--plugins", plugins]
    done = run(*check)
    assert (done.exit_code, "keeps every rule" in done.stdout) == (0, True)
    assert "berth_plugins.mine:Sound: warning: it rejected no node in any case; try another --cluster" in done.stderr
    assert json.loads(run(*check, "-o", "json").stdout)["warnings"] == ["it rejected no node in any case"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param(
            "NeedsLicence",
            "berth_plugins.mine:NeedsLicence: result: it failed in __init__: RuntimeError: no licence (mine.py, line",
            id="a constructor that raises",
        ),
        pytest.param(
            "Skips",
            "berth_plugins.mine:Skips: result: pod default/blue: it failed in skips: KeyError: 'team' (mine.py, line",
            id="a property that raises",
        ),
        pytest.param("Absent", "is not a class that extends one of", id="missing class"),
    ],
)
def test_check_fails_and_names_the_problem(plugins: Path, name: str, message: str) -> None:
    done = run("plugin", "check", f"berth_plugins.mine:{name}", "--plugins", plugins)
    assert done.exit_code == 1
    assert message in done.stderr


def test_ctrl_c_during_a_plugin_ends_the_command(plugins: Path) -> None:
    path = document(plugins, "Interrupts")
    done = run("simulate", "--cluster", EXAMPLE / "cluster.yaml", "--config", path, "--plugins", plugins)
    assert (done.exit_code, done.stderr) == (130, "stopped\n")


def test_sample_cluster_has_the_labels_named_by_the_arguments(plugins: Path) -> None:
    path = document(plugins, "ForgetsShape", label="example.com/team")
    name = ["plugin", "check", "berth_plugins.mine:ForgetsShape", "--plugins", plugins]
    assert run(*name).exit_code == 0
    done = run(*name, "--config", path)
    assert done.exit_code == 1
    assert "pod default/blue with no label example.com/team has the same shape" in done.stderr


def test_rejects_directory_without_plugins(tmp_path: Path) -> None:
    done = run("plugin", "check", TEAM_NODES, "--plugins", tmp_path)
    assert (done.exit_code, f"{tmp_path} has no folder berth_plugins; name the directory" in done.stderr) == (2, True)
