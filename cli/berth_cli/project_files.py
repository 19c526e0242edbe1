"""The project's files that commands read, the template, the functions and examples, under the paths of a clone."""

from __future__ import annotations

from pathlib import Path

# In a wheel they are packed beside this module (pyproject.toml); a clone has them itself, and always the newest.
_PACKED = Path(__file__).resolve().parent / "project"
PROJECT = _PACKED if _PACKED.is_dir() else Path(__file__).resolve().parents[2]
TEMPLATE = PROJECT / "template.yaml"
