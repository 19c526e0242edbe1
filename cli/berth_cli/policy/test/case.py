"""A case with everything that it names, read from files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.fields.reading import Object
from berth_cli.cluster_files.documents import parse_objects
from berth_cli.cluster_files.manifests import Manifests, manifests_of, read_manifests
from berth_cli.input_files import read_input
from berth_cli.policy.test.document import CaseDocument, PodExpectation, PolicyTestFile, find_test_files, read_test_file
from berth_cli.simulate.policy_options import read_policy


@dataclass(frozen=True, slots=True)
class Case:
    """`objects`: the cluster. `manifests`: the pods to place; without any, the pending pods of the cluster."""

    name: str
    file: Path
    line: int
    configuration: BerthConfiguration
    weight: int
    objects: Sequence[Object]
    manifests: Manifests
    expect: Mapping[str, PodExpectation]

    @property
    def place(self) -> str:
        """File and line, as editors open them."""
        return f"{self.file}:{self.line}"


def read_cases(path: Path) -> Iterator[Case]:
    """The cases of a file, or of all files below a folder. Raises InvalidInput."""
    objects_in, configuration_in = cache(_objects), cache(read_policy)
    for file in find_test_files(path):
        found = read_test_file(file)
        folder, document = file.parent, found.document
        for case, line in zip(document.cases, found.lines, strict=True):
            config, profile = _policy(case, found)
            cluster = case.cluster if case.cluster is not None else document.cluster
            pods = case.pods if case.pods is not None else document.pods
            yield Case(
                case.name,
                file,
                line,
                configuration_in(None if config is None else folder / config, profile),
                case.weight or document.weight,
                objects_in(folder / cluster) if isinstance(cluster, str) else tuple(cluster or ()),
                _manifests(pods, folder, f"{file}:{line}: pods"),
                case.expect,
            )


def _policy(case: CaseDocument, file: PolicyTestFile) -> tuple[str | None, str | None]:
    """The file of the configuration, and the profile. A case's own come first."""
    if case.config is not None or case.profile is not None:
        return case.config, case.profile
    return file.document.config, file.document.profile


def _objects(path: Path) -> Sequence[Object]:
    return tuple(parse_objects(read_input(path), str(path)))


def _manifests(pods: str | list[dict[str, object]] | None, folder: Path, where: str) -> Manifests:
    if pods is None:
        return Manifests()
    return read_manifests([folder / pods]) if isinstance(pods, str) else manifests_of(pods, where)
