"""Custom plugins: which names are loaded, and that nothing else is imported."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from berth.configuration.store import ActiveConfiguration, ConfigurationInvalid
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.plugins import custom_plugins as loading
from berth.scheduling.plugins.arguments import NoArgs
from berth.scheduling.plugins.custom_plugins import NotAPlugin, custom_plugin
from berth_cli.configuration.document import parse_document

MODULE = """
from berth.scheduling.framework import FilterPlugin, ScorePlugin
from berth.scheduling.plugins.arguments import Args as PluginArgs
from berth.scheduling.framework.plugin import SUCCESS
from subprocess import Popen
from pydantic import Field, field_validator

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

class ReadsByProperty(Passes):
    reads = property(lambda self: self.parts)

class NumberForName(Passes):
    name = 5

class ExemptWord(Passes):
    applies_to_exempt_pods = "no"

class NormalizedNumber(ScorePlugin):
    normalized = 1
    def score(self, state, node):
        return 1

class OddWhenItCounts(Passes):
    def with_counting(self, counting):
        other = OddWhenItCounts(None)
        other.__class__ = type(self)
        other.reads = []
        return other

class Unreadable(Exception):
    def __str__(self):
        return self.message

class FailsWithoutText(Passes):
    def __init__(self, args):
        raise Unreadable

class BuildsNoPlugin(Passes):
    def __new__(cls, args):
        return args

class FailsAfterArguments(Passes):
    class Args(PluginArgs):
        def model_post_init(self, context):
            raise RuntimeError("no licence")

class FailsWhenAsked(Passes):
    @property
    def applies_to_exempt_pods(self):
        raise LookupError("no table")

class FailsWhenAskedAgain(Passes):
    asked = 0
    @property
    def applies_to_exempt_pods(self):
        self.asked += 1
        if self.asked == 3:  # when the policy is composed
            raise LookupError("no table")
        return False

class FailsWhenExtended(Passes):
    def __init_subclass__(cls):
        raise TypeError("it is final")
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Create a package of plugins as a user would write it, and remove it after the test."""
    folder = tmp_path / "berth_plugins"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "mine.py").write_text(MODULE)
    (folder / "broken.py").write_text("def (:")
    (folder / "raises.py").write_text("1 / 0")
    (folder / "exits.py").write_text("import sys; sys.exit(3)")
    (folder / "lacks.py").write_text("import a_module_that_is_not_there")
    (folder / "asks.py").write_text("def __getattr__(name): raise RuntimeError(name)")
    (folder / "unreadable.py").write_text("class E(ImportError):\n def __str__(self): return self.text\nraise E")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = {name for name in sys.modules if name.startswith("berth_plugins")}
    assert before == set(), before
    yield
    for name in [name for name in sys.modules if name.startswith("berth_plugins")]:
        del sys.modules[name]


def test_loads_class_from_the_package_as_plugin() -> None:
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
        pytest.param("os:system", id="a module of the standard library"),
        pytest.param("berth.scheduling.plugins.node_affinity:NodeName", id="a module of Berth"),
        pytest.param("berth_plugins:Passes", id="the package itself"),
        pytest.param("berth_plugins2.mine:Passes", id="a package with a similar name"),
        pytest.param("berth_plugins.mine", id="a module"),
        pytest.param("berth_plugins.mine:Passes.filter", id="an attribute of a class"),
        pytest.param("berth_plugins.mine:Popen()", id="a call"),
        pytest.param("berth_plugins.mine:Passes\n", id="a line break"),
        pytest.param("berth_plugins.mine:P\u00e4sse", id="look-alike letters"),
        pytest.param("", id="empty name"),
    ],
)
def test_does_not_import_for_names_outside_the_package(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def imports(module: str) -> None:
        raise AssertionError(f"{module} was imported")

    monkeypatch.setattr(loading, "import_module", imports)
    with pytest.raises(NotAPlugin):
        custom_plugin(name)
    with pytest.raises(ValidationError, match="or a custom plugin"):
        BerthConfiguration.model_validate({"pluginConfig": [{"name": name}]})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param(
            "absent:X",
            "No module named 'berth_plugins.absent'; give the command --plugins DIR with the module, and the stack its "
            "layer (PluginLayerArn)",
            id="missing module",
        ),
        pytest.param("lacks:X", "No module named 'a_module_that_is_not_there'; is the module part of", id="missing"),
        pytest.param("broken:X", "its module cannot be imported: SyntaxError: ", id="a module with a syntax error"),
        pytest.param("raises:X", "its module cannot be imported: ZeroDivisionError: division by zero", id="it raises"),
        pytest.param("exits:X", "its module cannot be imported: SystemExit: 3 (exits.py, line 1)", id="module exits"),
        pytest.param("unreadable:X", ": <its text raises AttributeError>; is the module", id="error without message"),
        pytest.param("asks:X", "asks:X cannot be loaded: RuntimeError: X (asks.py, line 1)", id="that finds no names"),
        pytest.param("mine:FailsWhenExtended", "cannot be loaded: TypeError: it is final (mine.py, line", id="final"),
        pytest.param("mine:Absent", "is not a class that extends one of FilterPlugin, ScorePlugin, ", id="not a class"),
        pytest.param("mine:FilterPlugin", "lacks filter", id="the base class"),
        pytest.param("mine:WithoutFilter", "lacks filter", id="an abstract class"),
        pytest.param(
            "mine:OddArgs", "Args does not extend berth.scheduling.plugins.arguments.Args", id="odd arguments"
        ),
    ],
)
def test_rejects_configuration_if_the_class_is_not_a_plugin(name: str, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        BerthConfiguration.model_validate({"pluginConfig": [{"name": f"berth_plugins.{name}"}]})
    [detail] = caught.value.errors()
    assert detail["loc"] == ("pluginConfig", 0, "name")
    assert message in detail["msg"]


@pytest.mark.parametrize(
    "module",
    [
        pytest.param("raise KeyboardInterrupt", id="import"),
        pytest.param("def __getattr__(name): raise KeyboardInterrupt", id="name"),
    ],
)
def test_passes_keyboard_interrupt_through(module: str, tmp_path: Path) -> None:
    (tmp_path / "berth_plugins" / "slow.py").write_text(module)
    with pytest.raises(KeyboardInterrupt):
        custom_plugin("berth_plugins.slow:X")


def test_validates_arguments_with_the_plugins_type() -> None:
    config = {"name": "berth_plugins.mine:Configured", "args": {"size": "large"}}
    with pytest.raises(ValidationError) as caught:
        BerthConfiguration.model_validate({"pluginConfig": [config]})
    assert caught.value.errors()[0]["loc"] == ("pluginConfig", 0, "args", "size")


def test_argument_validator_that_exits_is_reported_as_field_error() -> None:
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
        pytest.param("NeedsArguments", "failed in Args: it needs arguments in pluginConfig: label", id="no arguments"),
        pytest.param(
            "FailsWithoutText",
            "failed in __init__: Unreadable: <its text raises AttributeError> (mine.py, line",
            id="raises an exception without a message",
        ),
        pytest.param(
            "BuildsNoPlugin", "failed in __init__: it returned NoArgs() (NoArgs), not a plugin", id="not a plugin"
        ),
        pytest.param(
            "FailsAfterArguments", "failed in Args: RuntimeError: no licence (mine.py, line", id="arguments raise"
        ),
        pytest.param(
            "OddReads", "failed in reads: it is 'nodes' (str), not NODES_ONLY or NODES_AND_PODS of ", id="odd parts"
        ),
        pytest.param("ReadsByProperty", "failed in reads: AttributeError: 'ReadsByProperty' object", id="a property"),
        pytest.param("NumberForName", "failed in name: it is 5 (int), not a text", id="a number for a name"),
        pytest.param("ExemptWord", "failed in applies_to_exempt_pods: it is 'no' (str), not a boolean", id="a word"),
        pytest.param("NormalizedNumber", "failed in normalized: it is 1 (int), not a boolean", id="a number"),
        pytest.param("OddWhenItCounts", "failed in reads: it is [] (list), not NODES_ONLY", id="by with_counting"),
        pytest.param(
            "FailsWhenAsked", "failed in applies_to_exempt_pods: LookupError: no table (mine.py, line", id="raises"
        ),
    ],
)
def test_error_names_plugin_that_cannot_be_built(name: str, failure: str) -> None:
    plugin = f"berth_plugins.mine:{name}"
    definition = {"plugins": {"enabled": [{"name": "NodeReady"}, {"name": plugin}]}}
    document = {"profiles": {"batch": "mine"}, "definitions": {"mine": definition}}
    with pytest.raises(ConfigurationInvalid) as caught:
        ActiveConfiguration.of(BerthConfiguration.model_validate(document))
    assert str(caught.value).startswith(f"plugin {plugin} {failure}")
    found = parse_document(json.dumps(document, indent=1).encode())
    assert isinstance(found, list)
    [error] = found
    assert (error.field, error.line) == ("definitions.mine.plugins.enabled[1].name", 13)
    assert error.message.startswith(f"plugin {plugin} {failure}")


def test_reports_any_other_exception_raised_while_building() -> None:
    definition = {"plugins": {"enabled": [{"name": "berth_plugins.mine:FailsWhenAskedAgain"}]}}
    document = {"profile": "mine", "definitions": {"mine": definition}}
    with pytest.raises(ConfigurationInvalid, match=r"^LookupError: no table \(mine.py, line \d+\)$"):
        ActiveConfiguration.of(BerthConfiguration.model_validate(document))
    found = parse_document(json.dumps(document).encode())
    assert isinstance(found, list)
    [error] = found
    assert (error.field, error.line) == ("document", 1)
    assert error.message.startswith("LookupError: no table (mine.py, line ")
