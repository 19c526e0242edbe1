"""Tries a BerthConfiguration on the verbs, stores it in the tables, and waits until it takes effect. Reads the versions
that were applied."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import click
import orjson

from berth.configuration.store import REFRESH_SECONDS, AppliedVersion, hash_of
from berth.runtime.http.events import LONGEST_WAIT_SECONDS
from berth_cli.sources.tables import TableNames

if TYPE_CHECKING:
    from berth.scheduling.configuration.document import BerthConfiguration
    from berth_cli.sources.stack import OpenTables

NOT_TRIED = "note: it was not tried on the verbs, because table names name no functions; --stack does"


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """The options of `berth config apply` and `rollback`."""

    tables: TableNames
    stop_counting: bool
    dry_run: bool
    skip_trial: bool
    no_wait: bool

    def check(self) -> None:
        """Check the combination of options. Raises UsageError."""
        self.tables.require("cache")
        if self.dry_run and (self.tables.stack is None or self.skip_trial):
            raise click.UsageError("--dry-run needs --stack and excludes --skip-trial: it asks the stack's functions")


def apply_configuration(
    opened: OpenTables, configuration: BerthConfiguration, name: str, options: ApplyOptions, note: str = ""
) -> None:
    """Try and apply the document, wait until it takes effect, and print each step. Raises ClickException.

    name: the document's name in messages. note: the new version's note in the history.
    """
    from berth_cli.configuration.trial import deployed_functions, try_document

    document = configuration.model_dump_json(by_alias=True, exclude_unset=True)
    trial = None
    if opened.deployed is not None and not options.skip_trial:
        trial = try_document(document, deployed_functions(opened.deployed))
        for line in trial.lines():
            click.echo(line)
        if trial.refusal:
            raise click.ClickException(f"{name} is not applied: {trial.refusal}; {trial.remedy}")
    if options.dry_run:
        click.echo(f"{name} is not applied: --dry-run")
        return
    interval, call = effect_delay(opened.store.read(), "" if opened.deployed is None else opened.deployed.http_timeout)
    delay = (
        f"{interval + call:g} s until every verb uses the document: a verb may read it {interval:g} s late, and a call "
        f"that has begun takes up to {call:g} s"
    )
    stops = _stops_counting(opened, configuration, options)
    plugin_version = "" if trial is None else trial.plugin_version
    opened.store.apply(document, stops_counting=stops, at=time.time(), note=note, plugin_version=plugin_version)
    hash_ = hash_of(document)
    click.echo(f"{name} is applied to {opened.cache_table}: profile {configuration.profile}, hash {hash_}")
    if trial is None and not options.skip_trial:
        click.echo(NOT_TRIED, err=True)
    if options.no_wait:
        click.echo(f"note: it takes up to {delay}", err=True)
        return
    click.echo(f"waiting {delay}; --no-wait leaves this out", err=True)
    time.sleep(interval + call)
    if opened.store.read() != document:
        raise click.ClickException(
            f"{name} was applied, but another document was applied meanwhile: see berth config history"
        )
    click.echo("every verb uses it")


def _stops_counting(opened: OpenTables, configuration: BerthConfiguration, options: ApplyOptions) -> bool:
    """Return whether the document ends counting. Request a rebuild if counting begins again, because pods that were
    bound meanwhile are missing from the ledger. Raises ClickException if the document would end counting without
    --stop-counting.
    """
    from berth.ledger.nodes.table import Marker, MarkerState

    ledger = opened.ledger if opened.ledger_table else None
    seen = None if ledger is None else ledger.marker()
    is_stopped = seen is not None and opened.store.counting_is_stopped()
    if configuration.counting.counts:
        if ledger is not None and seen is not None and is_stopped:
            requested = Marker(MarkerState.REBUILDING, seen.epoch, time.time(), uuid4().hex)
            if not ledger.put_marker(requested, seen):
                raise click.ClickException("the ledger changed at the same time; apply the document again")
            click.echo("requested a rebuild of the ledger from the watcher: counting was stopped before")
        return False
    if seen is not None and not is_stopped and not options.stop_counting:
        raise click.ClickException(
            "the document counts nothing, but the ledger counts resources: add managedResources, or give "
            "--stop-counting"
        )
    return options.stop_counting or is_stopped


# The head contains the document's hash at once, but some verbs read the head at intervals only: bind, and every verb if
# `minHeadReadInterval` is set. A response cannot prove that all warm environments have read the document, because they
# cannot be addressed individually. So the command waits for the longest interval plus the longest call that may have
# begun before the interval ends.

MAX_INTERVAL = 60.0
"""The maximum of `minHeadReadInterval`."""


def effect_delay(before: str | None, http_timeout: str) -> tuple[float, float]:
    """Return the longest time for which a verb does not read the head, and the duration of the longest call, in
    seconds. before: the document that was applied until now, as JSON; None if there is none. http_timeout: the
    scheduler's httpTimeout in seconds; empty if unknown."""
    call = float(http_timeout) if http_timeout else LONGEST_WAIT_SECONDS
    try:
        content = orjson.loads(before or "{}")
    except orjson.JSONDecodeError:
        # The previous document was written by hand: it is unknown which document the verbs used.
        return MAX_INTERVAL, call
    match content:
        # The old interval applies until a verb has read the new document.
        case {"nodeCache": {"minHeadReadInterval": int() | float() as seconds}}:
            return max(REFRESH_SECONDS, seconds), call
    return REFRESH_SECONDS, call


DEPLOYED = 0
"""The version number of the deployed configuration, which is in force until a document is applied."""


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of a stack's configuration. `kept`: the versions, newest first; the last one is the deployed
    configuration, if it is known. `document`: the document in force; None if the stack has no applied document."""

    kept: Sequence[AppliedVersion]
    document: str | None

    @classmethod
    def of(cls, opened: OpenTables) -> Versions:
        """Read the history. Raises TableUnavailable."""
        found = [*opened.store.history()]
        if opened.deployed is not None:
            text = opened.deployed.configuration_document
            found.append(AppliedVersion(DEPLOYED, text, 0.0, "the stack's parameter Profile"))
        return cls(found, opened.store.read())

    @property
    def newest(self) -> int:
        """The newest version with the document in force; the deployed version if the stack has no applied document."""
        return next((each.version for each in self.kept if each.document == self.document), DEPLOYED)

    def numbered(self, number: int) -> AppliedVersion:
        """Return the version with this number. Raises ClickException."""
        for each in self.kept:
            if each.version == number:
                return each
        kept = ", ".join(str(each.version) for each in self.kept) or "none"
        raise click.ClickException(f"there is no version {number}; kept are: {kept}; see berth config history")

    def previous(self) -> AppliedVersion:
        """Return the newest earlier version whose document differs from the one in force. Raises ClickException."""
        for each in self.kept:
            if each.version < self.newest and each.document != self.document:
                return each
        remedy = "apply another document with: berth config apply"
        if not any(each.version == DEPLOYED for each in self.kept):
            remedy = f"with --stack instead of table names the deployed one is known, or {remedy}"
        raise click.ClickException(f"there is no earlier version: see berth config history; {remedy}")

    def rows(self) -> list[dict[str, object]]:
        """Return the versions as JSON objects."""
        return [
            {
                "version": each.version,
                "appliedAt": _time(each),
                "hash": hash_of(each.document),
                "profile": str(orjson.loads(each.document).get("profile", "label-priority")),
                "inForce": each.version == self.newest,
                "pluginVersion": each.plugin_version,
                "note": each.note,
            }
            for each in self.kept
        ]


def history_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Format a version as the cells of a table row."""
    note = ", ".join(filter(None, ("in force" if row["inForce"] else "", row["note"])))
    return str(row["version"]), row["appliedAt"], row["hash"][:12], row["profile"], row["pluginVersion"] or "-", note


def _time(version: AppliedVersion) -> str:
    if not version.applied_at:
        return "deployed" if version.version == DEPLOYED else "unknown"
    return datetime.fromtimestamp(version.applied_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
