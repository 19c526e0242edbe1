"""The configuration in force, and the fallback if the applied document cannot be loaded."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from berth.configuration.store import (
    REFRESH_SECONDS,
    ConfigurationInvalid,
    Configurations,
    CountingLossCheck,
    CountingLost,
    installed_version,
    parsed,
    version_of,
)
from berth.dynamodb import TableErrors, TableMissing, TableUnavailable
from berth.ledger.nodes.table import Marker, MarkerState
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.server.store.cache_table import InMemoryConfigurationStore
from berth_cli.server.store.lease_lock import InMemoryItem
from tests.builders.custom_plugins import NAMED, installed_plugins
from tests.builders.sidecar import mount
from tests.unit.lease.clocks import EnvironmentClock

OLDER, OLD, BROKEN = '{"profile": "full"}', '{"profile": "resource-segregation"}', '{"kind": "Deployment"}'
MISSING_PLUGIN = (
    '{"profile": "mine", "definitions": {"mine": {"plugins": {"enabled": [{"name": "berth_plugins.absent:Absent"}]}}}}'
)

REMEDY = "apply a valid document, or run berth config rollback"
LICENCE, SLOT = {"name": "example.com/licence"}, {"name": "example.com/slot"}


class Environment:
    """The configurations of one environment, with these documents applied in order."""

    def __init__(self, *documents: str, deployed: str = "label-priority") -> None:
        self.store = InMemoryConfigurationStore(InMemoryItem())
        self.warnings: list[str] = []
        self.configurations = Configurations(
            self.store, lambda: parsed(json.dumps({"profile": deployed}), "deployed"), warn=self.warnings.append
        )
        for document in documents:
            self.store.apply(document)


@pytest.mark.parametrize(
    ("documents", "profile", "version"),
    [
        pytest.param([OLDER, OLD, BROKEN], "resource-segregation", 2, id="the previous document"),
        pytest.param([OLDER, OLD, MISSING_PLUGIN], "resource-segregation", 2, id="a plugin that is not installed"),
        pytest.param([OLDER, MISSING_PLUGIN, BROKEN], "full", 1, id="the newest that can be loaded"),
        pytest.param([OLDER, BROKEN, BROKEN], "full", 1, id="applied twice"),
    ],
)
def test_uses_earlier_document_if_the_applied_one_is_invalid(documents: list[str], profile: str, version: int) -> None:
    environment = Environment(*documents)
    for _ in range(2):
        configured = environment.configurations.at("hash")
        assert configured.policy.profile.name == profile
        assert f"version {version} is used instead" in configured.fallback
    assert environment.warnings == [configured.fallback]


HEAD = """
import sys
from berth.scheduling.framework import SUCCESS, FilterPlugin

class Unreadable(Exception):
    def __str__(self):
        return self.message

class Base(FilterPlugin):
    def filter(self, pod, node):
        return SUCCESS
"""


@pytest.mark.parametrize(
    "plugin",
    [
        pytest.param("sys.exit(3)", id="module, exits"),
        pytest.param("class Passes(Base):\n def __init__(self, args):\n  raise Unreadable", id="constructor"),
    ],
)
def test_uses_earlier_document_if_building_a_plugin_raises_any_exception(plugin: str, tmp_path: Path) -> None:
    with installed_plugins(tmp_path):
        (tmp_path / "berth_plugins" / "mine.py").write_text(HEAD + plugin)
        configured = Environment(OLD, NAMED).configurations.at("hash")
    assert configured.policy.profile.name == "resource-segregation"
    assert "berth_plugins.mine:Passes" in configured.fallback or "(mine.py, line " in configured.fallback


@pytest.mark.parametrize(
    "documents",
    [
        pytest.param([BROKEN], id="the first document"),
        pytest.param([MISSING_PLUGIN], id="the first custom plugin is not installed"),
        pytest.param([MISSING_PLUGIN, BROKEN], id="no document was valid"),
    ],
)
def test_uses_the_deployed_configuration_if_applied_documents_cannot_be_loaded(documents: list[str]) -> None:
    environment = Environment(*documents, deployed="resource-segregation")
    configured = environment.configurations.at("hash")
    assert configured.policy.profile.name == "resource-segregation"
    assert configured.fallback.endswith("; the deployed configuration is used instead: apply a valid document")
    assert environment.warnings == [configured.fallback]


def test_refuses_if_the_deployed_configuration_is_invalid_too() -> None:
    with pytest.raises(ConfigurationInvalid) as caught:
        Environment(BROKEN, deployed="no-such-profile").configurations.at("hash")
    assert str(caught.value) == (
        "the applied configuration: kind: Input should be 'BerthConfiguration'; nor can another document be loaded: "
        f"{REMEDY}"
    )


@pytest.mark.parametrize(
    ("document", "unknown"),
    [
        pytest.param("no JSON", "what it counts and binds", id="not JSON"),
        pytest.param("[]", "what it counts and binds", id="not a mapping"),
        pytest.param('{"managedResources": null}', "what it counts", id="counted resources are not a list"),
        pytest.param('{"managedResources": ["example.com/slot"]}', "what it counts", id="names instead of resources"),
        pytest.param('{"managedResources": [{"nam": "example.com/slot"}]}', "what it counts", id="unnamed resource"),
        pytest.param('{"managed_resources": [{"name": 1}]}', "what it counts", id="by the field's name"),
        pytest.param(
            '{"managedResources": [{"name": "example.com/slot", "fieldOfLaterRelease": 1}]}',
            "what it counts",
            id="a resource of a later release",
        ),
        pytest.param('{"bind": {"namespaces": "ml"}}', "which pods it binds", id="limits of bind"),
        pytest.param('{"bind": {"namespaces": ["ml"], "later": 1}}', "which pods it binds", id="bind of later release"),
        pytest.param('{"gangs": {"enabled": "yes"}}', "which pods it binds", id="gangs"),
    ],
)
def test_refuses_unreadable_counted_resources_and_bind_limits(document: str, unknown: str) -> None:
    """Another document could count fewer resources, or let bind cover more pods."""
    environment = Environment(OLDER, document)
    with pytest.raises(ConfigurationInvalid) as caught:
        environment.configurations.at("hash")
    assert str(caught.value).startswith("the applied configuration: ")
    assert str(caught.value).endswith(f"; no other document is used, because {unknown} cannot be read: {REMEDY}")
    assert environment.warnings == []


ML = {"namespaces": ["ml"]}


@pytest.mark.parametrize(
    ("before", "applied"),
    [
        pytest.param({}, {"bind": ML, "gangs": {"enabled": True, "timeout": 30}}, id="previous document has no limits"),
        pytest.param({"bind": {"namespaces": ["web"]}}, {"bind": ML}, id="the previous document has other limits"),
        pytest.param({"bind": ML, "gangs": {"enabled": True}}, {}, id="the applied document has no limits"),
    ],
)
@pytest.mark.parametrize("deployed_alone", [False, True])
def test_bind_uses_the_applied_document_even_if_a_fallback_is_in_use(
    before: dict[str, object], applied: dict[str, object], deployed_alone: bool
) -> None:
    documents = [] if deployed_alone else [json.dumps({"profile": "full", **before})]
    configured = Environment(*documents, json.dumps({**json.loads(MISSING_PLUGIN), **applied})).configurations.at(
        "hash"
    )
    wanted = BerthConfiguration.model_validate(applied)
    assert configured.fallback
    assert (configured.bind, configured.document.bind) == (wanted.bind, wanted.bind)
    assert configured.policy.gangs == wanted.gangs


@pytest.mark.parametrize(
    ("before", "failed", "counted"),
    [
        pytest.param([], [LICENCE], ("example.com/licence",), id="the deployed configuration counts nothing"),
        pytest.param(
            [LICENCE],
            [LICENCE, SLOT],
            ("example.com/licence", "example.com/slot"),
            id="the previous document counts fewer resources",
        ),
        pytest.param([LICENCE, SLOT], [LICENCE], ("example.com/licence",), id="the previous counts more"),
        pytest.param([LICENCE], [], (), id="the applied document stopped counting"),
    ],
)
def test_counting_uses_the_applied_document_even_if_a_fallback_is_in_use(
    before: list[object], failed: list[object], counted: tuple[str, ...]
) -> None:
    earlier = [json.dumps({"profile": "full", "managedResources": before})] if before else []
    environment = Environment(*earlier, json.dumps({**json.loads(MISSING_PLUGIN), "managedResources": failed}))
    configured = environment.configurations.at("hash")
    assert configured.fallback
    assert configured.policy.counting.resources == counted


def test_stops_using_the_fallback_when_another_document_is_applied() -> None:
    environment = Environment(OLD, BROKEN)
    environment.configurations.at("broken")
    environment.store.apply(OLDER)
    configured = environment.configurations.at("valid")
    assert (configured.policy.profile.name, configured.fallback) == ("full", "")


def test_returns_the_version_of_plugins_named_in_the_document(tmp_path: Path) -> None:
    with installed_plugins(tmp_path) as version:
        assert Environment(NAMED).configurations.at("hash").plugin_version == version
        assert Environment(OLDER).configurations.at("hash").plugin_version == ""


@pytest.mark.parametrize(
    ("here", "applied", "difference"),
    [
        pytest.param("1.0.0+a", "1.0.0+a", "", id="the same plugins"),
        pytest.param(
            "1.1.0+b",
            "1.0.0+a",
            "the plugins here are 1.1.0+b, but the configuration was applied with 1.0.0+a: apply it again when the "
            "deployment is over",
            id="other plugins",
        ),
        pytest.param("1.1.0+b", "", "", id="unknown after an apply without a trial"),
        pytest.param("", "1.0.0+a", "", id="an earlier document, without plugins, is used"),
    ],
)
def test_reports_plugins_that_changed_since_the_document_was_applied(here: str, applied: str, difference: str) -> None:
    configured = replace(Environment(OLDER).configurations.at("hash"), plugin_version=here)
    assert configured.plugin_difference(applied) == difference


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    folder = tmp_path / "berth_plugins"
    (folder / "rules").mkdir(parents=True)
    (folder / "__init__.py").write_text('"""Ours."""\n\n__version__ = "1.2.0"\n')
    (folder / "rules" / "teams.py").write_text("A = 1\n")
    (tmp_path / "requirements.txt").write_text("numpy==2.4.0\n")
    return tmp_path


def test_plugin_version_contains_declared_version_and_hash(plugins: Path) -> None:
    assert re.fullmatch(r"1\.2\.0\+[0-9a-f]{8}", version_of(plugins))
    assert version_of(plugins) == version_of(plugins)


def test_plugin_version_starts_with_0_unless_one_is_declared(plugins: Path) -> None:
    (plugins / "berth_plugins" / "__init__.py").unlink()
    assert version_of(plugins).startswith("0+")


def test_plugin_version_is_the_same_if_kubelet_mounts_the_files(tmp_path: Path) -> None:
    files = {"__init__.py": '__version__ = "1.2.0"\n', "teams.py": "A = 1\n"}
    plain, mounted = tmp_path / "plain" / "berth_plugins", tmp_path / "mounted" / "berth_plugins"
    plain.mkdir(parents=True)
    for name, text in files.items():
        (plain / name).write_text(text)
    mount(files, mounted)
    assert version_of(mounted.parent) == version_of(plain.parent)


@pytest.mark.parametrize(
    ("change", "changes"),
    [
        pytest.param(lambda root: (root / "berth_plugins/rules/teams.py").write_text("A = 2\n"), True, id="a module"),
        pytest.param(lambda root: (root / "berth_plugins/rules/more.py").touch(), True, id="a new module"),
        pytest.param(
            lambda root: (root / "berth_plugins/rules/teams.py").rename(root / "berth_plugins/teams.py"),
            True,
            id="a module in another place",
        ),
        pytest.param(lambda root: (root / "requirements.txt").write_text("numpy==2.5.0\n"), True, id="a dependency"),
        pytest.param(lambda root: (root / "berth_plugins/rules/teams.pyc").touch(), False, id="bytecode"),
        pytest.param(lambda root: (root / "berth_plugins/.mypy_cache").touch(), False, id="a hidden file"),
        pytest.param(lambda root: (root / "conftest.py").touch(), False, id="a file beside the package"),
    ],
)
def test_plugin_version_changes_with_loaded_files_only(
    plugins: Path, change: Callable[[Path], object], changes: bool
) -> None:
    before = version_of(plugins)
    change(plugins)
    assert (version_of(plugins) != before) is changes


def test_plugin_version_is_empty_without_plugins() -> None:
    installed_version.cache_clear()
    assert installed_version() == ""


MARKER = Marker(MarkerState.READY, 1, 0.0, "nonce")


class Ledger:
    """A ledger whose marker and document a test sets."""

    def __init__(self, marker: Marker | None = None, *, is_stopped: bool = False) -> None:
        self.content = marker
        self.is_stopped = is_stopped
        self.is_available = True
        self.exists = True
        self.reads: list[str] = []
        self.clock = EnvironmentClock()
        self.check = CountingLossCheck(self.marker, self.counting_is_stopped, self.clock)

    def marker(self) -> Marker | None:
        self.reads.append("marker")
        if not self.exists:
            raise TableMissing("no such table")
        if not self.is_available:
            raise TableUnavailable("throttled")
        return self.content

    def counting_is_stopped(self) -> bool:
        self.reads.append("document")
        return self.is_stopped

    def is_lost(self) -> bool:
        try:
            self.check.raise_if_lost()
        except CountingLost:
            return True
        return False


@pytest.mark.parametrize(
    ("ledger", "is_lost", "reads"),
    [
        pytest.param(Ledger(), False, ["marker"], id="a ledger without a marker never counted"),
        pytest.param(Ledger(MARKER), True, ["marker", "document"], id="a ledger with a marker counts"),
        pytest.param(
            Ledger(Marker(MarkerState.REBUILDING, 1, 0.0, "nonce")),
            True,
            ["marker", "document"],
            id="a ledger that is being rebuilt counts",
        ),
        pytest.param(Ledger(MARKER, is_stopped=True), False, ["marker", "document"], id="counting was stopped"),
    ],
)
def test_counting_is_lost_while_a_marker_exists_unless_stopped(ledger: Ledger, is_lost: bool, reads: list[str]) -> None:
    assert ledger.is_lost() is is_lost
    assert ledger.reads == reads


@pytest.mark.parametrize("marker", [None, MARKER], ids=["not lost", "lost"])
def test_reads_the_ledger_only_every_ten_seconds(marker: Marker | None) -> None:
    ledger = Ledger(marker)
    before = ledger.is_lost()
    ledger.reads.clear()
    ledger.clock.advance(REFRESH_SECONDS - 1)
    assert ledger.is_lost() is before
    assert ledger.reads == []
    ledger.clock.advance(1)
    ledger.content = None if marker else MARKER
    assert ledger.is_lost() is not before


@pytest.mark.parametrize("marker", [None, MARKER], ids=["not lost", "lost"])
def test_keeps_the_last_result_while_the_ledger_is_unavailable(marker: Marker | None) -> None:
    ledger = Ledger(marker)
    before = ledger.is_lost()
    ledger.is_available = False
    ledger.clock.advance(REFRESH_SECONDS)
    assert ledger.is_lost() is before


def test_raises_if_the_ledger_is_unavailable_and_no_result_is_known() -> None:
    ledger = Ledger(MARKER)
    ledger.is_available = False
    with pytest.raises(TableUnavailable):
        ledger.check.raise_if_lost()


def test_stack_that_does_not_count_works_without_a_ledger_table() -> None:
    ledger = Ledger()
    ledger.exists = False
    assert not ledger.is_lost()


def test_counting_stays_lost_if_the_ledger_table_is_deleted_afterwards() -> None:
    ledger = Ledger(MARKER)
    assert ledger.is_lost()
    ledger.exists = False
    ledger.clock.advance(REFRESH_SECONDS)
    assert ledger.is_lost()


@pytest.mark.parametrize(
    ("code", "is_missing"), [("ResourceNotFoundException", True), ("ThrottlingException", False), ("Other", False)]
)
def test_only_an_absent_table_counts_as_missing(code: str, is_missing: bool) -> None:
    error = ClientError({"Error": {"Code": code, "Message": ""}}, "GetItem")
    assert isinstance(TableErrors("ledger", "t", "V").unavailable(error), TableMissing) is is_missing
