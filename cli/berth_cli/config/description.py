"""What a configuration comes to: profiles and their plugins."""

from __future__ import annotations

from collections.abc import Sequence

from berth.scheduling.configuration import BerthConfiguration
from berth_cli.config.document import WrongField


def in_words(configuration: BerthConfiguration) -> str:
    """On one line: the profile and its plugins, then those of single schedulers."""
    told = [f"{_words(configuration, configuration.profile)}"]
    told += [f"for {scheduler}: {_words(configuration, name)}" for scheduler, name in configuration.profiles.items()]
    return "; ".join(told)


def _words(configuration: BerthConfiguration, name: str) -> str:
    plugins = configuration.composition(name).plugins
    return f"profile {name}, plugins {', '.join(each.name for each in plugins)}"


def as_json(found: BerthConfiguration | Sequence[WrongField]) -> dict[str, object]:
    """The same for programs, or the wrong fields."""
    if not isinstance(found, BerthConfiguration):
        errors = [{"field": wrong.field, "message": wrong.message} for wrong in found]
        return {"valid": False, "errors": errors}
    return {
        "valid": True,
        "warnings": list(found.doubts),
        "profile": found.profile,
        "plugins": _plugins(found, found.profile),
        "profiles": {
            scheduler: {"profile": name, "plugins": _plugins(found, name)} for scheduler, name in found.profiles.items()
        },
    }


def _plugins(configuration: BerthConfiguration, name: str) -> list[dict[str, object]]:
    return [{"name": each.name, "weight": each.weight} for each in configuration.composition(name).plugins]
