"""Reads the scheduler's configuration as kube-scheduler does, and finds its extender entries that call Berth."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.pods import DEFAULT_SCHEDULER
from berth_cli.installation.doctor.cluster_access import ClusterAccess
from berth_cli.terminal.options import parse_duration
from berth_cli.terminal.strict_yaml import InvalidYAML, load, load_all

KIND = "KubeSchedulerConfiguration"

# kube-scheduler rejects unknown fields. The strict models list all fields of their part.
_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True)
_LENIENT = ConfigDict(extra="ignore", frozen=True, strict=True)


class InvalidSchedulerConfiguration(Exception):
    """kube-scheduler would reject the document, or its location contains no document or several. The message states the
    cause or the location."""


class _Part(BaseModel):
    """A part of the document. As in Go, null counts as absent."""

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, value: object) -> object:
        if not isinstance(value, dict):
            return {} if value is None else value
        return {name: each for name, each in value.items() if each is not None or name == DURATION}


DURATION = "httpTimeout"
"""Go parses this field with custom code, so null is not a valid duration."""


class TLSConfig(_Part):
    """An extender's `tlsConfig`. Data is base64 and overrides files."""

    model_config = _STRICT
    insecure: bool = False
    server_name: str = Field(default="", alias="serverName")
    cert_file: str = Field(default="", alias="certFile")
    key_file: str = Field(default="", alias="keyFile")
    ca_file: str = Field(default="", alias="caFile")
    cert_data: str = Field(default="", alias="certData", repr=False)
    key_data: str = Field(default="", alias="keyData", repr=False)
    ca_data: str = Field(default="", alias="caData", repr=False)

    @property
    def has_ca(self) -> bool:
        return bool(self.ca_file or self.ca_data)


class ManagedResourceEntry(_Part):
    """An item of `managedResources`."""

    model_config = _STRICT
    name: str
    ignored_by_scheduler: bool = Field(default=False, alias="ignoredByScheduler")


class Extender(_Part):
    """An item of `extenders`."""

    model_config = _STRICT
    url_prefix: str = Field(alias="urlPrefix", repr=False)
    filter_verb: str = Field(default="", alias="filterVerb")
    prioritize_verb: str = Field(default="", alias="prioritizeVerb")
    bind_verb: str = Field(default="", alias="bindVerb")
    preempt_verb: str = Field(default="", alias="preemptVerb")
    weight: int = 0
    enable_https: bool = Field(default=False, alias="enableHTTPS")
    tls_config: TLSConfig | None = Field(default=None, alias="tlsConfig")
    http_timeout: str = Field(default="0s", alias="httpTimeout")
    node_cache_capable: bool = Field(default=False, alias="nodeCacheCapable")
    managed_resources: tuple[ManagedResourceEntry, ...] = Field(default=(), alias="managedResources", strict=False)
    ignorable: bool = False

    @field_validator("http_timeout")
    @classmethod
    def _is_duration(cls, value: str) -> str:
        if parse_duration(value.lstrip("+-")) is None:
            raise ValueError(f"{value!r} is not a duration such as 5s or 1m30s")
        if value.startswith("-"):
            raise ValueError(f"{value!r} is negative: kube-scheduler would wait for an answer without end")
        return value

    @property
    def timeout(self) -> float:
        """The timeout of a call in seconds: 5 if httpTimeout is 0 (fact 5)."""
        return parse_duration(self.http_timeout.lstrip("+")) or 5.0

    @property
    def verbs(self) -> dict[str, str]:
        """The configured verbs, by field name."""
        named = self.model_dump(by_alias=True, include={"filter_verb", "prioritize_verb", "bind_verb", "preempt_verb"})
        return {field: verb for field, verb in named.items() if verb}


class Profile(_Part):
    """An item of `profiles`."""

    model_config = _LENIENT
    scheduler_name: str = Field(default=DEFAULT_SCHEDULER, alias="schedulerName")
    percentage_of_nodes_to_score: int | None = Field(default=None, alias="percentageOfNodesToScore")


class LeaderElection(_Part):
    """Leader election among the scheduler's processes."""

    model_config = _LENIENT
    leader_elect: bool = Field(default=True, alias="leaderElect")
    resource_name: str = Field(default="kube-scheduler", alias="resourceName")
    resource_namespace: str = Field(default="kube-system", alias="resourceNamespace")


class SchedulerConfiguration(_Part):
    """The fields that affect an extender."""

    model_config = _LENIENT
    api_version: Literal["kubescheduler.config.k8s.io/v1"] = Field(alias="apiVersion")
    kind: Literal["KubeSchedulerConfiguration"]
    leader_election: LeaderElection = Field(default=LeaderElection(), alias="leaderElection")
    percentage_of_nodes_to_score: int | None = Field(default=None, alias="percentageOfNodesToScore")
    pod_max_backoff_seconds: int = Field(default=10, alias="podMaxBackoffSeconds")
    profiles: tuple[Profile, ...] = Field(default=(Profile(),), strict=False)
    extenders: tuple[Extender, ...] = Field(default=(), strict=False)


def parse_scheduler_configuration(document: object) -> SchedulerConfiguration:
    """Validate the document. Raises InvalidSchedulerConfiguration."""
    try:
        return SchedulerConfiguration.model_validate(document)
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, each['loc'])) or 'document'}: {each['msg']}" for each in error.errors()]
        raise InvalidSchedulerConfiguration("; ".join(lines)) from None


@dataclass(frozen=True, slots=True)
class SchedulerSide:
    """The scheduler's configuration. `source`: the file or object that contains it. `berth_extenders`: the entries that
    call Berth, in their order.
    """

    source: str
    configuration: SchedulerConfiguration
    berth_extenders: tuple[Extender, ...]

    @property
    def scheduler_names(self) -> tuple[str, ...]:
        """The schedulerName of each profile."""
        return tuple(profile.scheduler_name for profile in self.configuration.profiles)

    @property
    def binder(self) -> Extender | None:
        return next((each for each in self.berth_extenders if each.bind_verb), None)


def scheduler_side(source: str, configuration: SchedulerConfiguration, address: str) -> SchedulerSide:
    """Find the entries that call Berth. Without `address`: those with Berth's path, else all if they have one host."""
    extenders = configuration.extenders
    if address:
        found = tuple(each for each in extenders if _host_and_port(each.url_prefix) == _host_and_port(address))
    else:
        found = tuple(each for each in extenders if urlsplit(each.url_prefix).path.rstrip("/").endswith("/scheduler"))
        if not found and len({_host_and_port(each.url_prefix) for each in extenders}) == 1:
            found = extenders
    return SchedulerSide(source, configuration, found)


def _host_and_port(url: str) -> tuple[str, int | None]:
    """Return only host and port: the path is not compared, so that the checks report a wrong path."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = None
    return parts.hostname or "", port or {"http": 80, "https": 443}.get(parts.scheme)


def from_file(path: Path) -> SchedulerConfiguration:
    """Read the configuration from a file. Raises InvalidSchedulerConfiguration."""
    try:
        documents = [each.value for each in load_all(path.read_text())]
    except OSError as error:
        raise InvalidSchedulerConfiguration(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidSchedulerConfiguration(f"{path} is not text") from error
    except InvalidYAML as error:
        raise InvalidSchedulerConfiguration(f"{path} {_cause(error)}") from error
    return parse_scheduler_configuration(_require_one(_find_configurations(documents), str(path)))


def from_cluster(access: ClusterAccess, namespace: str, name: str) -> SchedulerConfiguration:
    """Read the configuration from the ConfigMap or Secret. Raises InvalidSchedulerConfiguration."""
    try:
        config_texts = access.config_texts(namespace, name)
    except ClusterUnavailable as error:
        raise InvalidSchedulerConfiguration(f"{namespace}/{name} cannot be read: {error}") from error
    return parse_scheduler_configuration(_require_one(_parse_texts(config_texts.values()), f"{namespace}/{name}"))


def _require_one(found: Iterable[object], source: str) -> object:
    listed = list(found)
    if len(listed) != 1:
        raise InvalidSchedulerConfiguration(f"{source} has {len(listed)} documents of kind {KIND}, not one")
    return listed[0]


def _find_configurations(documents: Iterable[object]) -> Iterator[object]:
    for document in documents:
        if not isinstance(document, dict):
            continue
        if document.get("kind") == KIND:
            yield document
        elif document.get("kind") == "List" and isinstance(document.get("items"), list):
            yield from _find_configurations(document["items"])
        elif document.get("kind") in ("ConfigMap", "Secret"):
            yield from _parse_texts(_manifest_texts(document))


def _manifest_texts(manifest: dict[str, object]) -> Iterator[str]:
    for field in ("data", "stringData"):
        values = manifest.get(field)
        for text in values.values() if isinstance(values, dict) else ():
            encoded = field == "data" and manifest["kind"] == "Secret"
            yield b64decode(text).decode(errors="replace") if encoded else text


def _parse_texts(config_texts: Iterable[str]) -> Iterator[object]:
    for text in config_texts:
        if KIND not in text:
            continue
        try:
            yield from _find_configurations([load(text).value])
        except InvalidYAML as error:
            raise InvalidSchedulerConfiguration(f"the embedded configuration {_cause(error)}") from error


def _cause(error: InvalidYAML) -> str:
    """Return the cause with its line number, but not the line's content, which may be a password."""
    return f"{error}{'' if error.line is None else f' (line {error.line})'}"
