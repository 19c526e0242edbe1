"""A ConfigMap as a kubelet mounts it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def mount(files: Mapping[str, str], folder: Path) -> None:
    """Write the files: each is a link to a file in `..data`, which is a link to a hidden folder."""
    versioned = folder / "..2026_01_01_00_00_00.1"
    versioned.mkdir(parents=True)
    (folder / "..data").symlink_to(versioned.name)
    for name, text in files.items():
        (versioned / name).write_text(text)
        (folder / name).symlink_to(Path("..data") / name)
