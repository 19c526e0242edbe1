"""The cluster on which custom plugins are checked: a dump's, or a sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.fields.reading import Object
from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth.testing.variants import sample_cluster, sample_pods
from berth_cli.sources.dump.cluster import read_cluster, trim
from berth_cli.sources.dump.documents import parse_objects
from berth_cli.terminal.input_files import display_name, read_input

SAMPLE = "a sample cluster"


def checked_cluster(dump: Path | None, configuration: BerthConfiguration) -> tuple[Snapshot, Sequence[Pod]]:
    """Return the cluster of a dump, or a sample, and the pods to place, which include the pods on nodes. A dump without
    pods gets pods of the sample. Raises InvalidInput.

    configuration: the sample has labels whose keys are arguments of a plugin in it.
    """
    keys = _label_keys(configuration)
    if dump is None:
        return sample_cluster(keys), sample_pods(keys)
    counting = configuration.counting
    objects = list(parse_objects(read_input(dump), display_name(dump)))
    found = read_cluster([trim(each, counting) for each in objects], display_name(dump))
    pods = [*found.pods, *_unplaced(objects)]
    return found.snapshot, pods or sample_pods(keys)


def _label_keys(configuration: BerthConfiguration) -> list[str]:
    definitions = configuration.definitions.values()
    configs = [*configuration.plugin_config, *(each for one in definitions for each in one.plugin_config)]
    values = [value for config in configs for value in config.args.model_dump().values()]
    return sorted({value for value in values if isinstance(value, str) and value})


def _unplaced(objects: Sequence[Object]) -> Iterator[Pod]:
    """Yield the pods on nodes as if they were to be placed: they are read whole."""
    for obj in objects:
        spec = obj.get("spec")
        if obj.get("kind") == "Pod" and isinstance(spec, dict) and spec.get("nodeName"):
            read = read_pod({**obj, "spec": {**spec, "nodeName": ""}})
            if isinstance(read, Pod):
                yield read
