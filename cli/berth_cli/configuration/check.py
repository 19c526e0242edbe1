"""Checks whether a BerthConfiguration document is valid, and whether each part of it has an effect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.configuration.document import ValidDocument
from berth_cli.configuration.field_errors import FieldError
from berth_cli.configuration.warnings import ConfigurationWarning, cluster_warnings, configuration_warnings


def warnings_about(configuration: BerthConfiguration, cluster: Path | None) -> list[ConfigurationWarning]:
    """Return the warnings about the document and, with a dump, about its fit to the dump's nodes and pods. Raises
    InvalidInput."""
    return [*configuration_warnings(configuration), *_cluster_warnings(configuration, cluster)]


def _cluster_warnings(configuration: BerthConfiguration, cluster: Path | None) -> Iterator[ConfigurationWarning]:
    if cluster is not None:
        # Imported here: only --cluster needs it.
        from berth_cli.sources.dump.cluster import read_cluster, read_dump, trim

        objects = [trim(each, configuration.counting) for each in read_dump(cluster)]
        yield from cluster_warnings(configuration, read_cluster(objects, str(cluster)).snapshot)


def description(configuration: BerthConfiguration) -> str:
    """Describe the default profile with its plugins, and the profiles of individual schedulers."""
    profiles = {"": configuration.profile, **configuration.profiles}
    return "; ".join(
        f"{f'for {scheduler}: ' if scheduler else ''}profile {name}, plugins "
        f"{', '.join(each.name for each in configuration.composition(name).plugins)}"
        for scheduler, name in profiles.items()
    )


def report(result: ValidDocument | Sequence[FieldError], warnings: Sequence[ConfigurationWarning]) -> dict[str, object]:
    """Return the profiles and plugins, or the invalid fields, as a JSON object."""
    if not isinstance(result, ValidDocument):
        return {"valid": False, "errors": [asdict(each) for each in result]}
    configuration, source = result.configuration, result.source
    return {
        "valid": True,
        "warnings": [
            {"line": source.line(each.path), "field": each.field, "message": each.message} for each in warnings
        ],
        "profile": configuration.profile,
        "plugins": _plugins(configuration, configuration.profile),
        "profiles": {
            scheduler: {"profile": name, "plugins": _plugins(configuration, name)}
            for scheduler, name in configuration.profiles.items()
        },
    }


def _plugins(configuration: BerthConfiguration, name: str) -> list[dict[str, object]]:
    return [{"name": each.name, "weight": each.weight} for each in configuration.composition(name).plugins]
