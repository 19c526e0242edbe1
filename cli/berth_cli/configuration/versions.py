"""The documents that were applied to a stack: the one in force, and the previous ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import click
import orjson

from berth.configuration.store import AppliedVersion, hash_of
from berth_cli.sources.stack import OpenTables

DEPLOYED = 0
"""The number of the configuration that is in force until one is applied."""


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of a stack's configuration. `kept`: the newest first; the last one is the deployed configuration, if
    it is known. `document`: the one in force; None if the stack has no applied document."""

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
        """Return the newest version before the one in force that has a different document. Raises ClickException."""
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


def history_cells(row: Mapping[str, object]) -> tuple[str, ...]:
    """Format a version as the cells of a table row."""
    version, applied, profile, plugins = (
        str(row[name]) for name in ("version", "appliedAt", "profile", "pluginVersion")
    )
    note = ", ".join(part for part in ("in force" if row["inForce"] else "", str(row["note"])) if part)
    return version, applied, str(row["hash"])[:12], profile, plugins or "-", note


def _time(version: AppliedVersion) -> str:
    if not version.applied_at:
        return "deployed" if version.version == DEPLOYED else "unknown"
    return datetime.fromtimestamp(version.applied_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
