"""`berth plugin package`: what is in the layer, and what cannot be packaged."""

from __future__ import annotations

import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from click.testing import CliRunner, Result

from berth.configuration.store import version_of
from berth_cli.commands.plugin import ARCHITECTURES, PYTHONS
from berth_cli.installation import plugin_layer as layer
from berth_cli.main import main
from tests.deployment.template import read_template

HASH = f"--hash=sha256:{'0' * 64}"


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    folder = tmp_path / "berth_plugins"
    folder.mkdir()
    (folder / "__init__.py").write_text('__version__ = "1.2.0"\n')
    (folder / "mine.py").write_text("NAME = 'Mine'\n")
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["plugin", "package", *map(str, arguments)], prog_name="berth")


def names(file: Path) -> list[str]:
    return ZipFile(file).namelist()


def test_layer_has_the_package_where_functions_look_for_it(plugins: Path) -> None:
    (plugins / "berth_plugins" / "__pycache__").mkdir()
    (plugins / "berth_plugins" / "__pycache__" / "mine.cpython-313.pyc").touch()
    (plugins / "tests").mkdir()
    (plugins / "tests" / "test_mine.py").touch()
    done = run(plugins, "--file", plugins / "layer.zip", "--python", "3.11")
    assert done.exit_code == 0, done.output
    sources = [name for name in names(plugins / "layer.zip") if not name.endswith(".pyc")]
    assert sources == ["python/berth_plugins/__init__.py", "python/berth_plugins/mine.py"]
    assert f"plugins {version_of(plugins)}, 0 dependencies, " in done.stdout
    assert "for python3.11 on arm64" in done.stdout


def test_same_input_produces_the_same_file(plugins: Path) -> None:
    run(plugins, "--file", plugins / "one.zip")
    (plugins / "berth_plugins" / "mine.py").touch()
    run(plugins, "--file", plugins / "two.zip")
    assert (plugins / "one.zip").read_bytes() == (plugins / "two.zip").read_bytes()


def test_layer_has_the_version_of_the_plugin_directory(plugins: Path) -> None:
    """The verbs compute theirs of what is in /opt/python."""
    (plugins / "requirements.txt").write_text("# none\n")
    run(plugins, "--file", plugins / "layer.zip")
    ZipFile(plugins / "layer.zip").extractall(plugins / "opt")
    assert version_of(plugins / "opt" / "python") == version_of(plugins)


def stub(file: Path) -> Path:
    """In place of pip: the real one asks a package index (test_plugin_package.py, marked `build`)."""
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


def test_installs_wheels_for_the_platform_of_the_functions(plugins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(stub(plugins / "python")))
    (plugins / "requirements.txt").write_text(f"numpy==2.4.0 \\\n    {HASH} \\\n    {HASH}\n    # via -r in\n")
    done = run(plugins, "--file", plugins / "layer.zip", "--architecture", "x86_64", "--python", "3.12")
    assert ", 1 dependency, " in done.stdout
    asked = ZipFile(plugins / "layer.zip").read("python/asked.txt").decode()
    assert asked.startswith("-m pip install ")
    for option in ("--require-hashes", "--no-deps", "--only-binary=:all:", "--python-version 3.12"):
        assert option in asked
    assert "--platform manylinux2014_x86_64" in asked
    assert "numpy==2.4.0" in asked
    assert asked.count(HASH) == 2


def test_names_the_remedy_if_pip_is_missing(plugins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer, "find_spec", lambda name: None)
    (plugins / "requirements.txt").write_text(f"numpy==2.4.0 {HASH}\n")
    done = run(plugins, "--file", plugins / "layer.zip")
    assert (done.exit_code, "this environment has no pip; install Berth with pipx, or" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        pytest.param("numpy>=2", "numpy>=2 is not pinned with a hash; lock it: uv pip compile", id="a range"),
        pytest.param("numpy==2.4.0", "numpy==2.4.0 is not pinned with a hash", id="no hash"),
        pytest.param(
            f"pydantic==1.0 {HASH}", "pydantic is 1.0, but Berth's own layers have ", id="Berth has another version"
        ),
        pytest.param(
            f"PyYAML==1.0 {HASH}", "pyyaml is 1.0, but Berth's own layers have ", id="bind has another version"
        ),
    ],
)
def test_rejects_invalid_requirement(plugins: Path, requirement: str, message: str) -> None:
    (plugins / "requirements.txt").write_text(f"{requirement}\n")
    done = run(plugins, "--file", plugins / "layer.zip")
    assert (done.exit_code, message in done.stderr) == (1, True), done.stderr
    assert not (plugins / "layer.zip").exists()


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
def test_rejects_invalid_package(plugins: Path, file: str, content: str, message: str) -> None:
    (plugins / "berth_plugins" / file).write_text(content)
    done = run(plugins, "--file", plugins / "layer.zip")
    assert (done.exit_code, message in done.stderr) == (1, True), done.stderr


def test_platforms_match_the_template() -> None:
    template = read_template()
    architectures = template["Parameters"]["Architecture"]["AllowedValues"]
    assert set(ARCHITECTURES) == set(layer.PLATFORMS) == set(architectures)
    assert template["Globals"]["Function"]["Runtime"] == f"python{PYTHONS[-1]}"
