"""Check a BerthConfiguration document: is it valid, and does each part of it have an effect?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.configuration.document import ValidDocument, parse_document
from berth_cli.configuration.field_errors import FieldError
from berth_cli.configuration.warnings import ConfigurationWarning, cluster_warnings, configuration_warnings


@dataclass(frozen=True, slots=True)
class CheckedDocument:
    """The document and warnings about it, or its errors."""

    result: ValidDocument | Sequence[FieldError]
    warnings: Sequence[ConfigurationWarning] = ()

    @property
    def description(self) -> str:
        """The profile with its plugins, then the profiles of individual schedulers."""
        assert isinstance(self.result, ValidDocument)
        configuration = self.result.configuration
        profiles = {"": configuration.profile, **configuration.profiles}
        return "; ".join(
            f"{f'for {scheduler}: ' if scheduler else ''}profile {name}, plugins "
            f"{', '.join(each.name for each in configuration.composition(name).plugins)}"
            for scheduler, name in profiles.items()
        )


def check_document(text: bytes, cluster: Path | None) -> CheckedDocument:
    """Check the text. cluster: a dump, for warnings about its nodes and pods. Raises InvalidInput."""
    result = parse_document(text)
    if not isinstance(result, ValidDocument):
        return CheckedDocument(result)
    found = result.configuration
    return CheckedDocument(result, [*configuration_warnings(found), *_cluster_warnings(found, cluster)])


def _cluster_warnings(configuration: BerthConfiguration, cluster: Path | None) -> Iterator[ConfigurationWarning]:
    if cluster is not None:
        # Imported here: only --cluster needs it.
        from berth_cli.sources.dump.cluster import read_cluster, trim
        from berth_cli.sources.dump.documents import parse_objects
        from berth_cli.terminal.input_files import read_input

        objects = [trim(each, configuration.counting) for each in parse_objects(read_input(cluster), str(cluster))]
        yield from cluster_warnings(configuration, read_cluster(objects, str(cluster)).snapshot)


def report(checked: CheckedDocument) -> dict[str, object]:
    """Return the profiles and plugins, or the invalid fields, as a JSON object."""
    if not isinstance(checked.result, ValidDocument):
        fields = ("line", "field", "message", "example")
        errors = [{name: getattr(each, name) for name in fields} for each in checked.result]
        return {"valid": False, "errors": errors}
    configuration, source = checked.result.configuration, checked.result.source
    return {
        "valid": True,
        "warnings": [
            {"line": source.line(each.path), "field": each.field, "message": each.message} for each in checked.warnings
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
