"""The effective configuration: the configuration applied to the cluster, otherwise the deployed configuration.

The head has the hash of the applied document. A reader reads the document once for each hash.

The version of custom plugins, such as `1.2.0+3f9a1c2b`, is the package's `__version__` with a hash of its files and of
the locked requirements in the same directory. So a layer has the version of the directory that it was built from.

The ledger has a marker as soon as resources are counted. While the marker exists, a configuration that does not count
means that the applied document was lost, unless a user applied it with `berth config apply --stop-counting`.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from pydantic import ValidationError
from pydantic_core import from_json, to_json

from berth.dynamodb import TableMissing, TableUnavailable
from berth.lease.clock import Clock, Instant
from berth.scheduling.configuration.document import (
    BerthConfiguration,
    BindConfiguration,
    NodeCacheConfiguration,
    validation_messages,
)
from berth.scheduling.evaluation.evaluation_cache import MAX_BYTES
from berth.scheduling.evaluation.time_limit import NO_TIME_LIMIT, TimeLimit
from berth.scheduling.framework.plugin import PluginFailed
from berth.scheduling.objects import UnreadableObject
from berth.scheduling.plugins.custom_plugins import MISSING_REMEDY, PACKAGE, description
from berth.scheduling.policy import Policy

if TYPE_CHECKING:
    from berth.ledger.nodes.table import Marker

REQUIREMENTS = "requirements.txt"
_DIGITS = 8
_FIELDS_OF = {"which pods it binds": ("bind", "gangs"), "what it counts": ("managed_resources",)}
_DECLARED = re.compile(r"""^__version__\s*=\s*["']([0-9A-Za-z.-]{1,20})["']""", re.MULTILINE)


@cache
def installed_version() -> str:
    """Return the version of the package that this process loads; empty without a package. It never changes, because
    loaded modules do not change."""
    spec = find_spec(PACKAGE)
    locations = [] if spec is None else list(spec.submodule_search_locations or ())
    return version_of(Path(locations[0]).parent) if locations else ""


def version_of(directory: Path) -> str:
    return f"{declared_version(directory) or '0'}+{_digest(directory)}"


def declared_version(directory: Path) -> str:
    """Return the package's `__version__`, without importing the package; empty if it does not have one."""
    file = directory / PACKAGE / "__init__.py"
    found = _DECLARED.search(file.read_text(encoding="utf-8")) if file.is_file() else None
    return "" if found is None else found[1]


def package_files(directory: Path) -> Iterator[Path]:
    """Yield the package's files in sorted order, without byte-code and hidden files."""
    for path in sorted((directory / PACKAGE).rglob("*")):
        parts = path.relative_to(directory).parts
        if path.is_file() and path.suffix != ".pyc" and not any(part.startswith(".") for part in parts):
            yield path


def _digest(directory: Path) -> str:
    digest = hashlib.sha256()
    requirements = directory / REQUIREMENTS
    for path in [*package_files(directory), *([requirements] if requirements.is_file() else [])]:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(directory).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:_DIGITS]


VERSIONS = 10
"""The number of applied documents that are kept."""

REMEDY = "apply a valid document, or run berth config rollback"
"""The remedy if no document can be used."""


@dataclass(frozen=True, slots=True)
class AppliedVersion:
    """A document that was applied. version: from 1, in the order of application. applied_at: seconds since the epoch; 0
    if unknown. note: the reason for applying it, such as a rollback; may be empty. plugin_version: the version of the
    custom plugins that it was tried with; empty without custom plugins, or if unknown. stops_counting: whether the user
    who applied it confirmed that counting ends."""

    version: int
    document: str
    applied_at: float
    note: str = ""
    plugin_version: str = ""
    stops_counting: bool = False


class ConfigurationStore(ABC):
    """The store of the applied document. Every method may raise TableUnavailable."""

    @abstractmethod
    def read(self) -> str | None:
        """Return the applied BerthConfiguration as JSON (a consistent read); None if there is no applied document."""

    @abstractmethod
    def counting_is_stopped(self) -> bool:
        """Return whether the document was applied to stop counting (a consistent read)."""

    @abstractmethod
    def history(self) -> tuple[AppliedVersion, ...]:
        """Return the ten most recently applied documents, the newest first."""

    def apply(
        self,
        document: str,
        *,
        stops_counting: bool = False,
        at: float = 0.0,
        note: str = "",
        plugin_version: str = "",
    ) -> None:
        """Store the document, then point the head to it. Processes of older releases may read the document at any time.
        The arguments are fields of AppliedVersion."""
        self._apply(AppliedVersion(0, document, at, note, plugin_version, stops_counting))

    @abstractmethod
    def _apply(self, version: AppliedVersion) -> None:
        """Store this version with the next number, and point the head to it."""

    @abstractmethod
    def restore(self) -> str:
        """Restore the most recently applied document in each table after a loss, and point the head to it. Return a
        description of the repair for the log; empty if both tables had the document."""


class ConfigurationInvalid(Exception):
    """The document is missing, or cannot be used. The message has the cause."""


def hash_of(document: str) -> str:
    return hashlib.sha256(document.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class ActiveConfiguration:
    """A configuration as a verb uses it. fallback: why the applied document cannot be loaded and another is used;
    otherwise empty. plugin_version: the process's version of custom plugins; empty if the document uses none."""

    document: BerthConfiguration
    policy: Policy
    node_cache: NodeCacheConfiguration
    bind: BindConfiguration
    fallback: str = ""
    plugin_version: str = ""

    @property
    def lacks_plugins(self) -> bool:
        """Return whether the applied document could not be loaded because its plugins are not installed in this
        process. The functions have their own plugins, so the result does not apply to them."""
        return MISSING_REMEDY in self.fallback

    def plugin_difference(self, applied: str) -> str:
        """Return a message if this process's plugins differ from `applied`, the version on the head with which the
        document was tried; empty if they are equal or unknown. The plugins are still used: a deployment may be
        replacing the layer."""
        if not applied or not self.plugin_version or applied == self.plugin_version:
            return ""
        return (
            f"the plugins here are {self.plugin_version}, but the configuration was applied with {applied}: apply it "
            "again when the deployment is over"
        )

    @classmethod
    def of(
        cls,
        configuration: BerthConfiguration,
        remembered_bytes: int = MAX_BYTES,
        time_limit: TimeLimit = NO_TIME_LIMIT,
        plugins: Callable[[], str] = installed_version,
    ) -> ActiveConfiguration:
        """Build the policy. plugins: returns the plugins' version in this process. Raises ConfigurationInvalid for
        every error, including errors of plugins, so that the caller can try another document."""
        try:
            policy = configuration.policy(remembered_bytes, time_limit)
            version = plugins() if configuration.names_custom_plugins else ""
        except PluginFailed as error:
            raise ConfigurationInvalid(str(error)) from error
        except Exception as error:
            raise ConfigurationInvalid(description(error)) from error
        return cls(configuration, policy, configuration.node_cache, configuration.bind, plugin_version=version)


@dataclass(eq=False)
class Configurations:
    """Loads the configuration of one warm environment. Thread-safe.

    If the applied document cannot be loaded, the newest earlier document that can be loaded is used, otherwise the
    deployed one, with the applied document's sections about counting and binding (see _kept_sections); `warn` gets the
    cause. If these sections cannot be read, loading fails. `deployed`: called when needed; may raise
    ConfigurationInvalid. `remembered_bytes`, `time_limit`: see Policy.
    """

    store: ConfigurationStore
    deployed: Callable[[], BerthConfiguration]
    remembered_bytes: int = MAX_BYTES
    time_limit: TimeLimit = NO_TIME_LIMIT
    warn: Callable[[str], None] = lambda _: None
    _lock: Lock = field(init=False, default_factory=Lock)
    _known: tuple[str, ActiveConfiguration] | None = field(init=False, default=None)

    @property
    def last(self) -> ActiveConfiguration:
        """Return the last effective configuration, initially the defaults, for use while the table is unavailable."""
        return self._unconfigured if self._known is None else self._known[1]

    def at(self, configuration_hash: str) -> ActiveConfiguration:
        """Return the configuration with this hash; for an empty hash, the deployed one. Raises ConfigurationInvalid,
        TableUnavailable."""
        known = self._known
        if known is not None and known[0] == configuration_hash:
            return known[1]
        with self._lock:
            if self._known is None or self._known[0] != configuration_hash:
                self._known = configuration_hash, self._read(configuration_hash)
            return self._known[1]

    @cached_property
    def _unconfigured(self) -> ActiveConfiguration:
        return self._built(BerthConfiguration())

    def _built(self, configuration: BerthConfiguration) -> ActiveConfiguration:
        return ActiveConfiguration.of(configuration, self.remembered_bytes, self.time_limit)

    def _read(self, configuration_hash: str) -> ActiveConfiguration:
        if not configuration_hash:
            return self._built(self.deployed())
        document = self.store.read()
        if document is None:
            raise ConfigurationInvalid("the applied configuration is not in the cache table; apply it again")
        # If the document has another hash, it is newer than the head that was read; the next head has that hash.
        try:
            return self._built(parsed(document, "the applied configuration"))
        except ConfigurationInvalid as error:
            return self._fallback(document, error)

    def _fallback(self, failed: str, cause: ConfigurationInvalid) -> ActiveConfiguration:
        """Return the newest earlier document that can be loaded, otherwise the deployed document, with the kept
        sections of the failed document. Raises ConfigurationInvalid if the sections cannot be read, or all documents
        fail."""
        kept = _kept_sections(failed)
        if isinstance(kept, UnreadableObject):
            why = f"no other document is used, because {kept.cause} cannot be read"
            raise ConfigurationInvalid(f"{cause}; {why}: {REMEDY}") from cause
        for name, read in self._candidates(failed):
            try:
                found = self._built(read().model_copy(update=kept))
            except ConfigurationInvalid:
                continue
            fallback = f"{cause}; {name} is used instead: apply a valid document"
            self.warn(fallback)
            return replace(found, fallback=fallback)
        raise ConfigurationInvalid(f"{cause}; nor can another document be loaded: {REMEDY}") from cause

    def _candidates(self, failed: str) -> Iterator[tuple[str, Callable[[], BerthConfiguration]]]:
        for each in self.store.history():
            if each.document != failed:
                name = f"version {each.version}"
                yield name, partial(parsed, each.document, name)
        yield "the deployed configuration", self.deployed


def parsed(document: str, where: str) -> BerthConfiguration:
    """Return the configuration in this JSON. Raises ConfigurationInvalid."""
    try:
        return BerthConfiguration.model_validate_json(document)
    except ValidationError as error:
        raise ConfigurationInvalid("; ".join(f"{where}: {line}" for line in validation_messages(error))) from error


COUNTING_LOST = (
    "the ledger counts resources, but the configuration in force counts none: it was lost or replaced; apply it again "
    "with berth config apply, or with --stop-counting one that counts nothing"
)
REFRESH_SECONDS = 10.0
"""The seconds for which CountingLossCheck uses a result."""


class CountingLost(Exception):
    """The configuration does not count, although the ledger does, and no user stopped counting. The message has the
    remedy."""

    def __init__(self) -> None:
        super().__init__(COUNTING_LOST)


class CountingLossCheck:
    """Detects in a warm environment that counting was lost. Thread-safe. It reads the ledger's marker at most every 10
    s, and the ledger's copy of the document if there is a marker."""

    def __init__(
        self, marker: Callable[[], Marker | None], counting_is_stopped: Callable[[], bool], clock: Clock
    ) -> None:
        self._marker = marker
        self._counting_is_stopped = counting_is_stopped
        self._clock = clock
        self._last: tuple[bool, Instant] | None = None

    def raise_if_lost(self) -> None:
        """Raise CountingLost if counting was lost. Raises TableUnavailable if the ledger cannot be read and there is no
        earlier result."""
        now, last = self._clock.now(), self._last
        if last is None or now.longest_since(last[1]) >= REFRESH_SECONDS:
            last = self._last = self._is_lost(), now
        if last[0]:
            raise CountingLost

    def raise_if_known(self) -> None:
        """Raise CountingLost if counting was lost according to the last result, of any age. Does not read a table."""
        if self._last is not None and self._last[0]:
            raise CountingLost

    def _is_lost(self) -> bool:
        try:
            return self._marker() is not None and not self._counting_is_stopped()
        except TableMissing:
            # Use the last result if the table is missing: a stack that does not count works without a ledger.
            return self._last is not None and self._last[0]
        except TableUnavailable:
            if self._last is None:
                raise
            return self._last[0]


def _kept_sections(document: str) -> dict[str, object] | UnreadableObject:
    """Return the sections of a document that stay in force if it cannot be loaded as a whole, by their Python names. If
    fewer resources were counted or more pods bound, a resource could be assigned twice. UnreadableObject names the
    section that cannot be read."""
    try:
        content = from_json(document)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        return UnreadableObject("what it counts and binds")
    kept: dict[str, object] = {}
    for part, fields in _FIELDS_OF.items():
        # A document may spell a field with its alias or with its Python name.
        spelled = {name for each in fields for name in (each, BerthConfiguration.model_fields[each].alias)}
        try:
            # Validate JSON: validation of Python objects is stricter.
            read = BerthConfiguration.model_validate_json(to_json({k: v for k, v in content.items() if k in spelled}))
        except ValidationError:
            return UnreadableObject(part)
        kept |= {each: getattr(read, each) for each in fields}
    return kept
