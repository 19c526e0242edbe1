"""`berth scheduler-config` as a user runs it, and the volumes that a kubelet makes from the printed manifests."""

from __future__ import annotations

import subprocess
from base64 import b64decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.kubernetes.kubernetes_api import JsonObject
from tests.e2e.kubernetes.scheduler_configuration import SchedulerConfiguration

from .berth_serve import COMMAND

FLAGS = "note: run kube-scheduler with --config=FILE "


def berth_scheduler_config(*arguments: str | Path) -> str:
    return _run(arguments, None).stdout


def berth_scheduler_config_and_flags(
    *arguments: str | Path, environment: Mapping[str, str] | None = None
) -> tuple[SchedulerConfiguration, list[str]]:
    """Return the output for the cluster's own scheduler, and the flags that the command's note adds to --config."""
    done = _run(arguments, environment)
    [line] = [line for line in done.stderr.splitlines() if line.startswith(FLAGS)]
    return yaml.safe_load(done.stdout), line.removeprefix(FLAGS).split()


def _run(arguments: Iterable[str | Path], environment: Mapping[str, str] | None) -> subprocess.CompletedProcess[str]:
    command = [str(word) for word in (COMMAND, "scheduler-config", *arguments)]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, env=environment
    )


@dataclass(frozen=True)
class Container:
    """The configuration of kube-scheduler, with paths on this machine, and its flags."""

    configuration: SchedulerConfiguration
    flags: list[str]


def mount_volumes(documents: list[JsonObject], directory: Path) -> Container:
    """Write the volumes of the Deployment below `directory`."""
    named = {f"{each['kind']}/{each['metadata']['name']}": each for each in documents}
    [deployment] = [each for each in documents if each["kind"] == "Deployment"]
    spec = deployment["spec"]["template"]["spec"]
    [container] = spec["containers"]
    paths = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    for volume in spec["volumes"]:
        folder = directory / paths[volume["name"]].lstrip("/")
        folder.mkdir(parents=True)
        for name, data in _files(volume, named).items():
            (folder / name).write_bytes(data)
    path, *flags = container["args"]
    text = (directory / path.removeprefix("--config=/")).read_text()
    for mount in paths.values():
        text = text.replace(f": {mount}/", f": {directory}{mount}/")
    return Container(yaml.safe_load(text), flags)


def _files(volume: dict[str, Any], named: dict[str, JsonObject]) -> dict[str, bytes]:
    """Return the files of a volume. Optional sources need not exist."""
    sources = volume["projected"]["sources"] if "projected" in volume else [volume]
    found: dict[str, bytes] = {}
    for source in sources:
        kind, field = ("ConfigMap", "configMap") if "configMap" in source else ("Secret", "secret")
        name = source[field].get("name") or source[field]["secretName"]
        files = named.get(f"{kind}/{name}", {}) if source[field].get("optional") else named[f"{kind}/{name}"]
        plain = files.get("stringData", {}) | (files.get("data", {}) if kind == "ConfigMap" else {})
        found |= {key: text.encode() for key, text in plain.items()}
        found |= {key: b64decode(text) for key, text in files.get("data", {}).items() if kind == "Secret"}
    return found
