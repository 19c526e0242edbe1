"""Paths of the project files that commands read: the template, the functions and the examples."""

from __future__ import annotations

from pathlib import Path

# A wheel packs these files next to this module (see pyproject.toml). In a clone, the clone's own files are used.
_PACKED = Path(__file__).resolve().parent / "project"
PROJECT = _PACKED if _PACKED.is_dir() else Path(__file__).resolve().parents[2]
TEMPLATE = PROJECT / "template.yaml"
