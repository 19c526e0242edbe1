"""Reads the cases of `berth policy test`: their YAML documents, and the files that the documents name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.fields.reading import Object
from berth_cli.configuration.document import error_line, read_policy
from berth_cli.configuration.field_errors import field_path
from berth_cli.sources.dump.cluster import read_dump
from berth_cli.sources.dump.manifests import Manifests, manifests_of, read_manifests
from berth_cli.terminal import strict_yaml
from berth_cli.terminal.input_files import InvalidInput, read_input

KIND = "PolicyTest"
SUFFIXES = (".yaml", ".yml")
_KIND_LINE = re.compile(rb"^kind:[ \t]*[\"']?PolicyTest\b", re.MULTILINE)


def _as_tuple(value: object) -> object:
    return [value] if isinstance(value, str) else value


Patterns = Annotated[tuple[str, ...], BeforeValidator(_as_tuple), Field(min_length=1)]
"""Names in which `*` matches any text. A value must match one of them."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PodExpectation(_Model):
    """The expectation for a pod. node: the nodes of which one must get the pod. pending: whether the pod must stay
    without a node. reason: a part of its event's message, or the code of a reason. rejected: by node, a part of the
    reason for its rejection, or the reason's code.
    """

    node: Patterns | None = Field(default=None, strict=False)
    pending: bool | None = None
    reason: str | None = None
    rejected: Mapping[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_possible(self) -> PodExpectation:
        if self.pending and self.node is not None:
            raise ValueError("a pending pod has no node; give `node` or `pending: true`")
        if self.node is None and self.pending is None and self.reason is None and not self.rejected:
            raise ValueError("nothing is expected; give `node`, `pending`, `reason` or `rejected`")
        return self


class _Given(_Model):
    """The inputs of a case or of the document. pods: the pods to place; if empty, the pending pods of the cluster."""

    config: str | None = None
    profile: str | None = None
    cluster: str | list[dict[str, object]] | None = None
    pods: str | list[dict[str, object]] | None = None


class CaseDocument(_Given):
    """One case. It uses the document's inputs for those that it lacks."""

    name: str = Field(min_length=1)
    weight: int | None = Field(default=None, ge=1)
    expect: Mapping[str, PodExpectation] = Field(min_length=1)


class PolicyTestDocument(_Given):
    """A file of cases. Paths are relative to the file."""

    api_version: Literal["berth.dev/v1alpha1"] = Field(alias="apiVersion")
    kind: Literal["PolicyTest"]
    weight: int = Field(default=1, ge=1)
    cases: tuple[CaseDocument, ...] = Field(min_length=1, strict=False)

    @model_validator(mode="after")
    def _is_complete(self) -> PolicyTestDocument:
        for case in self.cases:
            if case.cluster is None and self.cluster is None:
                raise ValueError(f"case {case.name!r} has no cluster; give `cluster` in the case or in the document")
        policies = [(self.config, self.profile), *((case.config, case.profile) for case in self.cases)]
        for config, profile in policies:
            if config is not None and profile is not None:
                raise ValueError("config and profile exclude each other; name the profile in the configuration")
        return self


def find_test_files(path: Path) -> Iterator[Path]:
    """Yield the path if it is a file, otherwise the files below it that contain test cases. Raises InvalidInput if
    there are none."""
    if not path.is_dir():
        yield path
        return
    found = False
    for each in sorted(path.rglob("*")):
        if each.suffix in SUFFIXES and each.is_file() and _KIND_LINE.search(read_input(each)):
            found = True
            yield each
    if not found:
        raise InvalidInput(f"{path} has no file with `kind: {KIND}` ({', '.join(f'*{each}' for each in SUFFIXES)})")


def read_test_file(path: Path) -> tuple[PolicyTestDocument, tuple[int, ...]]:
    """Read the cases of a file, and the line number of each. Raises InvalidInput with one line for each invalid
    field."""
    try:
        source = strict_yaml.load(read_input(path))
    except strict_yaml.InvalidYAML as error:
        raise InvalidInput(error_line(str(path), field_path(error.path), str(error), error.line)) from error
    try:
        document = PolicyTestDocument.model_validate(source.value)
    except ValidationError as error:
        raise InvalidInput("\n".join(_errors(path, error, source))) from error
    lines = tuple(source.line(("cases", number)) for number in range(len(document.cases)))
    return document, lines


def _errors(path: Path, error: ValidationError, source: strict_yaml.YAMLDocument) -> Iterator[str]:
    for detail in error.errors():
        message = (
            "unknown field" if detail["type"] == "extra_forbidden" else detail["msg"].removeprefix("Value error, ")
        )
        yield error_line(str(path), field_path(detail["loc"]), message, source.line(detail["loc"]))


@dataclass(frozen=True, slots=True)
class Case:
    """A case with its files read. `objects`: the cluster. `manifests`: the pods to place; if empty, the pending pods of
    the cluster."""

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
        """The file and line, in the format that editors open."""
        return f"{self.file}:{self.line}"


def read_cases(path: Path) -> Iterator[Case]:
    """Yield the cases of a file, or of all files below a folder. Raises InvalidInput."""
    objects_in, configuration_in = cache(_objects), cache(read_policy)
    for file in find_test_files(path):
        folder, (document, lines) = file.parent, read_test_file(file)
        for case, line in zip(document.cases, lines, strict=True):
            policy = document if case.config is None and case.profile is None else case
            cluster = case.cluster if case.cluster is not None else document.cluster
            pods = case.pods if case.pods is not None else document.pods
            yield Case(
                case.name,
                file,
                line,
                configuration_in(None if policy.config is None else folder / policy.config, policy.profile),
                case.weight or document.weight,
                objects_in(folder / cluster) if isinstance(cluster, str) else tuple(cluster or ()),
                _manifests(pods, folder, f"{file}:{line}: pods"),
                case.expect,
            )


def _objects(path: Path) -> Sequence[Object]:
    return tuple(read_dump(path))


def _manifests(pods: str | list[dict[str, object]] | None, folder: Path, where: str) -> Manifests:
    if pods is None:
        return Manifests()
    return read_manifests([folder / pods]) if isinstance(pods, str) else manifests_of(pods, where)
