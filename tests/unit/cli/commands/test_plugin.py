"""`berth plugin check` and `berth plugin package`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from click.testing import CliRunner, Result

from berth.configuration.store import version_of
from berth_cli.commands.plugin import ARCHITECTURES, PYTHONS
from berth_cli.installation import plugin_layer as layer
from berth_cli.main import main
from tests.conftest import PROJECT
from tests.deployment.template import read_template

EXAMPLE = PROJECT / "examples" / "custom-plugin"
TEAM_NODES = "berth_plugins.team_nodes:TeamNodes"

MODULE = """
import sys
from berth.scheduling.framework import NODES_ONLY, FilterPlugin, SUCCESS, unschedulable
from berth.scheduling.plugins.arguments import Args as PluginArgs

class Sound(FilterPlugin):
    reads = NODES_ONLY

    def filter(self, pod, node):
        return SUCCESS

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
    """Yield a directory with the package; its modules are unloaded after the test."""
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


def test_warns_about_plugin_that_does_not_reject_any_node(plugins: Path) -> None:
    check = ["plugin", "check", "berth_plugins.mine:Sound", "--plugins", plugins]
    done = run(*check)
    assert (done.exit_code, "keeps every rule" in done.stdout) == (0, True)
    assert "berth_plugins.mine:Sound: warning: it rejected no node in any case; try another --cluster" in done.stderr
    assert json.loads(run(*check, "-o", "json").stdout)["warnings"] == ["it rejected no node in any case"]


def test_check_fails_for_a_missing_class(plugins: Path) -> None:
    done = run("plugin", "check", "berth_plugins.mine:Absent", "--plugins", plugins)
    assert (done.exit_code, "is not a class that extends one of" in done.stderr) == (1, True)


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


HASH = f"--hash=sha256:{'0' * 64}"


@pytest.fixture
def written(tmp_path: Path) -> Path:
    folder = tmp_path / "berth_plugins"
    folder.mkdir()
    (folder / "__init__.py").write_text('__version__ = "1.2.0"\n')
    (folder / "mine.py").write_text("NAME = 'Mine'\n")
    return tmp_path


def pack(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["plugin", "package", *map(str, arguments)], prog_name="berth")


def names(file: Path) -> list[str]:
    return ZipFile(file).namelist()


def test_layer_has_the_package_where_functions_look_for_it(written: Path) -> None:
    (written / "berth_plugins" / "__pycache__").mkdir()
    (written / "berth_plugins" / "__pycache__" / "mine.cpython-313.pyc").touch()
    (written / "tests").mkdir()
    (written / "tests" / "test_mine.py").touch()
    done = pack(written, "--file", written / "layer.zip", "--python", "3.11")
    assert done.exit_code == 0, done.output
    sources = [name for name in names(written / "layer.zip") if not name.endswith(".pyc")]
    assert sources == ["python/berth_plugins/__init__.py", "python/berth_plugins/mine.py"]
    assert f"plugins {version_of(written)}, 0 dependencies, " in done.stdout
    assert "for python3.11 on arm64" in done.stdout


def test_same_plugins_produce_the_same_layer_file(written: Path) -> None:
    pack(written, "--file", written / "one.zip")
    (written / "berth_plugins" / "mine.py").touch()
    pack(written, "--file", written / "two.zip")
    assert (written / "one.zip").read_bytes() == (written / "two.zip").read_bytes()


def test_layer_has_the_version_of_the_plugin_directory(written: Path) -> None:
    """The verbs compute their plugin version from the content of /opt/python."""
    (written / "requirements.txt").write_text("# none\n")
    pack(written, "--file", written / "layer.zip")
    ZipFile(written / "layer.zip").extractall(written / "opt")
    assert version_of(written / "opt" / "python") == version_of(written)


def stub(file: Path) -> Path:
    """Write a script in place of pip. The real pip calls a package index (test_plugin_package.py, marked `build`)."""
    file.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, sys\n"
        "options = sys.argv[1:]\n"
        "target = pathlib.Path(options[options.index('--target') + 1])\n"
        "requirements = pathlib.Path(options[options.index('--requirement') + 1]).read_text()\n"
        "(target / 'asked.txt').write_text(' '.join(options) + '\\n' + requirements)\n"
    )
    file.chmod(0o755)
    return file


def test_installs_wheels_for_the_platform_of_the_functions(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(stub(written / "python")))
    (written / "requirements.txt").write_text(f"numpy==2.4.0 \\\n    {HASH} \\\n    {HASH}\n    # via -r in\n")
    done = pack(written, "--file", written / "layer.zip", "--architecture", "x86_64", "--python", "3.12")
    assert ", 1 dependency, " in done.stdout
    asked = ZipFile(written / "layer.zip").read("python/asked.txt").decode()
    assert asked.startswith("-m pip install ")
    for option in ("--require-hashes", "--no-deps", "--only-binary=:all:", "--python-version 3.12"):
        assert option in asked
    assert "--platform manylinux2014_x86_64" in asked
    assert "numpy==2.4.0" in asked
    assert asked.count(HASH) == 2


def test_names_the_remedy_if_pip_is_missing(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer, "find_spec", lambda name: None)
    (written / "requirements.txt").write_text(f"numpy==2.4.0 {HASH}\n")
    done = pack(written, "--file", written / "layer.zip")
    assert (done.exit_code, "this environment has no pip; install Berth with pipx, or" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        pytest.param("numpy>=2", "numpy>=2 is not pinned with a hash; lock it: uv pip compile", id="a range"),
        pytest.param("numpy==2.4.0", "numpy==2.4.0 is not pinned with a hash", id="no hash"),
        pytest.param(f"pydantic==1.0 {HASH}", "pydantic is 1.0, but Berth's own layers have ", id="another version"),
        pytest.param(f"PyYAML==1.0 {HASH}", "pyyaml is 1.0, but Berth's own layers have ", id="bind has another"),
    ],
)
def test_package_rejects_an_invalid_requirement(written: Path, requirement: str, message: str) -> None:
    (written / "requirements.txt").write_text(f"{requirement}\n")
    done = pack(written, "--file", written / "layer.zip")
    assert (done.exit_code, message in done.stderr) == (1, True), done.stderr
    assert not (written / "layer.zip").exists()


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        pytest.param(
            "__init__.py", "", "__init__.py has no version of up to 20 characters: add a line such as", id="no package"
        ),
        pytest.param(
            "mine.py",
            "def (:",
            "berth_plugins.mine cannot be imported: SyntaxError: invalid syntax",
            id="a syntax error",
        ),
        pytest.param(
            "mine.py",
            "import not_there",
            "berth_plugins.mine cannot be imported: ModuleNotFoundError: No module named 'not_there'; correct it, or",
            id="missing module",
        ),
    ],
)
def test_package_rejects_an_invalid_plugin_package(written: Path, file: str, content: str, message: str) -> None:
    (written / "berth_plugins" / file).write_text(content)
    done = pack(written, "--file", written / "layer.zip")
    assert (done.exit_code, message in done.stderr) == (1, True), done.stderr


def test_package_accepts_the_platforms_of_the_template() -> None:
    template = read_template()
    architectures = template["Parameters"]["Architecture"]["AllowedValues"]
    assert set(ARCHITECTURES) == set(layer.PLATFORMS) == set(architectures)
    assert template["Globals"]["Function"]["Runtime"] == f"python{PYTHONS[-1]}"
