"""The chart as helm renders it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

PROJECT = Path(__file__).resolve().parents[2]
CHART = PROJECT / "charts" / "berth"
HELM = PROJECT / ".tools" / "helm" / "helm"
RELEASE, NAMESPACE = "berth", "kube-system"
KUBERNETES = "--kube-version=1.36.3"
"""Option of helm, which assumes another version if there is no cluster."""

Values = Mapping[str, object]


class ChartRefused(Exception):
    """helm did not render the chart; the message is helm's."""


@dataclass(frozen=True, slots=True)
class Key:
    """The key of an object: its kind, namespace and name."""

    kind: str
    namespace: str
    name: str


def helm(*arguments: str | Path, values: Values | None = None) -> str:
    """Run helm with these values. Raises ChartRefused."""
    done = subprocess.run(
        [HELM, *arguments, *(["--values", "-"] if values is not None else [])],
        input=None if values is None else json.dumps(values),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ChartRefused(done.stdout + done.stderr)
    return done.stdout


def rendered(values: Values, *arguments: str) -> list[dict[str, Any]]:
    """Return the objects for these values. Raises ChartRefused."""
    text = helm("template", RELEASE, CHART, "--namespace", NAMESPACE, KUBERNETES, *arguments, values=values)
    return [document for document in yaml.safe_load_all(text) if document is not None]


def by_key(documents: list[dict[str, Any]]) -> dict[Key, dict[str, Any]]:
    """Return the objects by key. Two objects with one key are an error: helm would apply both."""
    found: dict[Key, dict[str, Any]] = {}
    for document in documents:
        metadata = document["metadata"]
        key = Key(document["kind"], metadata.get("namespace", ""), metadata["name"])
        assert key not in found, key
        found[key] = document
    return found
