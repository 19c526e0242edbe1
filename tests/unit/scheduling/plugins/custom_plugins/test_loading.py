"""Plugins of a user's own: what a name may lead to, and that it leads to nothing else."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from berth.configuration.store import ConfigurationInvalid, Configured
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.plugins.arguments import NoArgs
from berth.scheduling.plugins.custom_plugins import loading
from berth.scheduling.plugins.custom_plugins.loading import NotAPlugin, custom_plugin
from berth_cli.config.document import parse_document

MODULE = """
from berth.scheduling.framework import FilterPlugin
from berth.scheduling.plugins.arguments import Args as PluginArgs
from berth.scheduling.framework.status import SUCCESS
from subprocess import Popen
from pydantic import field_validator

class Passes(FilterPlugin):
    def filter(self, state, node):
        return SUCCESS

class Configured(Passes):
    name = "Configured"
    class Args(PluginArgs):
        size: int = 1

class WithoutFilter(FilterPlugin):
    pass

class OddArgs(Passes):
    Args = dict

class FailsToStart(Passes):
    def __init__(self, args):
        raise RuntimeError("no licence")

class ExitsAtStart(Passes):
    def __init__(self, args):
        raise SystemExit(3)

class NeedsArguments(Passes):
    class Args(PluginArgs):
        label: str

class FailsToValidate(Passes):
    class Args(PluginArgs):
        label: str = ""

        @field_validator("label")
        @classmethod
        def _is_known(cls, label):
            raise SystemExit("unknown label")

class OddReads(Passes):
    reads = "nodes"

value = 5
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package of plugins as a user would write it, gone after the test."""
    folder = tmp_path / "berth_plugins"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "mine.py").write_text(MODULE)
    (folder / "broken.py").write_text("def (:")
    (folder / "raises.py").write_text("1 / 0")
    (folder / "exits.py").write_text("import sys; sys.exit(3)")
    (folder / "lacks.py").write_text("import a_module_that_is_not_there")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = {name for name in sys.modules if name.startswith("berth_plugins")}
    assert before == set(), before
    yield
    for name in [name for name in sys.modules if name.startswith("berth_plugins")]:
        del sys.modules[name]


def test_loads_class_of_package_as_plugin() -> None:
    found = custom_plugin("berth_plugins.mine:Passes")
    assert found.args is NoArgs
    assert found.plugin(NoArgs()).name == "berth_plugins.mine:Passes"


def test_builds_custom_plugin_with_name_and_arguments() -> None:
    found = custom_plugin("berth_plugins.mine:Configured")
    assert found.args.model_validate({"size": 3}).model_dump() == {"size": 3}
    assert found.plugin(found.args()).name == "Configured"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("os:system", id="a module of Python's"),
        pytest.param("subprocess:Popen", id="another one"),
        pytest.param("berth.scheduling.plugins.node_name:NodeName", id="a module of Berth's"),
        pytest.param("berth_plugins:Passes", id="the package itself"),
        pytest.param("berth_plugins2.mine:Passes", id="a package whose name only begins so"),
        pytest.param("x.berth_plugins.mine:Passes", id="a package inside another"),
        pytest.param("berth_plugins.mine", id="a module"),
        pytest.param("berth_plugins.mine:Passes.filter", id="something in a class"),
        pytest.param("berth_plugins.mine:Popen()", id="a call"),
        pytest.param("berth_plugins..mine:Passes", id="dots"),
        pytest.param(".berth_plugins.mine:Passes", id="a dot before"),
        pytest.param("berth_plugins/../os:system", id="a path"),
        pytest.param("berth_plugins.mine:Passes\n", id="a line end"),
        pytest.param("berth_plugins.mine:P\u00e4sse", id="letters that look alike"),
        pytest.param("", id="nothing"),
    ],
)
def test_imports_nothing_for_other_names(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def imports(module: str) -> None:
        raise AssertionError(f"{module} was imported")

    monkeypatch.setattr(loading, "import_module", imports)
    with pytest.raises(NotAPlugin):
        custom_plugin(name)
    with pytest.raises(ValidationError, match="or a plugin of your own"):
        BerthConfiguration.model_validate({"pluginConfig": [{"name": name}]})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param(
            "absent:X",
            "No module named 'berth_plugins.absent'; give the command --plugins DIR with the module, and the stack its "
            "layer (PluginLayerArn)",
            id="none",
        ),
        pytest.param(
            "lacks:X", "No module named 'a_module_that_is_not_there'; is the module part of", id="it lacks one"
        ),
        pytest.param("broken:X", "its module cannot be imported: SyntaxError: ", id="a module that is no Python"),
        pytest.param(
            "raises:X", "its module cannot be imported: ZeroDivisionError: division by zero", id="that raises"
        ),
        pytest.param("exits:X", "its module cannot be imported: SystemExit: 3 (exits.py, line 1)", id="that exits"),
        pytest.param("mine:OddReads", "reads is not NODES_ONLY or NODES_AND_PODS", id="odd parts"),
        pytest.param("mine:Absent", "is not a class that extends one of FilterPlugin, ScorePlugin, ", id="no class"),
        pytest.param("mine:value", "is not a class that extends one of", id="a value"),
        pytest.param("mine:Popen", "is not a class that extends one of", id="a class that the module imports"),
        pytest.param("mine:FilterPlugin", "lacks filter", id="the class to extend"),
        pytest.param("mine:WithoutFilter", "lacks filter", id="a class that is not whole"),
        pytest.param(
            "mine:OddArgs", "Args does not extend berth.scheduling.plugins.arguments.Args", id="odd arguments"
        ),
    ],
)
def test_rejects_configuration_when_class_is_no_plugin(name: str, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        BerthConfiguration.model_validate({"pluginConfig": [{"name": f"berth_plugins.{name}"}]})
    [detail] = caught.value.errors()
    assert detail["loc"] == ("pluginConfig", 0, "name")
    assert message in detail["msg"]


def test_validates_arguments_with_plugins_type() -> None:
    config = {"name": "berth_plugins.mine:Configured", "args": {"size": "large"}}
    with pytest.raises(ValidationError) as caught:
        BerthConfiguration.model_validate({"pluginConfig": [config]})
    assert caught.value.errors()[0]["loc"] == ("pluginConfig", 0, "args", "size")


def test_validator_of_arguments_that_exits_is_an_error_of_the_field() -> None:
    config = {"name": "berth_plugins.mine:FailsToValidate", "args": {"label": "a"}}
    with pytest.raises(ValidationError) as caught:
        BerthConfiguration.model_validate({"pluginConfig": [config]})
    [detail] = caught.value.errors()
    assert detail["loc"] == ("pluginConfig", 0, "args")
    assert "SystemExit: unknown label" in detail["msg"]


@pytest.mark.parametrize(
    ("name", "failure"),
    [
        pytest.param("FailsToStart", "failed in __init__: RuntimeError: no licence (mine.py, line", id="raises"),
        pytest.param("ExitsAtStart", "failed in __init__: SystemExit: 3 (mine.py, line", id="exits"),
        pytest.param(
            "NeedsArguments", "failed in Args: it needs arguments in pluginConfig: label", id="lacks arguments"
        ),
    ],
)
def test_names_plugin_that_cannot_be_built(name: str, failure: str) -> None:
    plugin = f"berth_plugins.mine:{name}"
    definition = {"plugins": {"enabled": [{"name": "NodeReady"}, {"name": plugin}]}}
    document = {"profiles": {"batch": "mine"}, "definitions": {"mine": definition}}
    with pytest.raises(ConfigurationInvalid) as caught:
        Configured.of(BerthConfiguration.model_validate(document))
    assert str(caught.value).startswith(f"plugin {plugin} {failure}")
    found = parse_document(json.dumps(document, indent=1).encode())
    assert isinstance(found, list)
    [error] = found
    assert (error.field, error.line) == ("definitions.mine.plugins.enabled[1].name", 13)
    assert error.message.startswith(f"plugin {plugin} {failure}")
