"""What the Berth behind the address runs, as its answer of /healthz?verbose says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from pydantic import ValidationError

from berth.cluster.dump.dump_cluster import UID_PREFIX as DUMP_UID_PREFIX
from berth.configuration.store import ActiveConfiguration, ConfigurationInvalid
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.doctor.access.cluster import Subject
from berth_cli.doctor.access.endpoint import Endpoint, HttpResponse, NoResponse


@dataclass(frozen=True, slots=True)
class RunningBerth:
    """`cluster`: the UID of the cluster in the cache; empty if unknown. `configuration`, `watcher`, `binder`: None if
    unknown; the latter two are the users as which the cluster is called. `fallback`: why another document than the
    applied one is in use; empty: it is not.
    """

    cluster: str = ""
    configuration: BerthConfiguration | None = None
    watcher: Subject | None = None
    binder: Subject | None = None
    fallback: str = ""

    @property
    def is_on_dump(self) -> bool:
        """Whether it reads a file instead of an API server."""
        return self.cluster.startswith(DUMP_UID_PREFIX)


UNKNOWN = RunningBerth()


def running_berth(endpoint: Endpoint) -> RunningBerth:
    """Earlier releases, other servers and a Berth without its table say nothing."""
    health, users = json_object(endpoint.healthz()) or {}, json_object(endpoint.get("users")) or {}
    cluster = health.get("cluster")
    return RunningBerth(
        cluster if isinstance(cluster, str) else "",
        _configuration(health.get("configuration")),
        _subject(users.get("watcher")),
        _subject(users.get("binder")),
        str(health.get("configurationFallback") or ""),
    )


def json_object(answer: HttpResponse | NoResponse) -> Mapping[str, object] | None:
    """The JSON object in the body; None for anything else."""
    if isinstance(answer, NoResponse):
        return None
    try:
        content = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return None
    return content if isinstance(content, dict) else None


def _configuration(document: object) -> BerthConfiguration | None:
    """None also for plugins that only the server has, or that cannot be built here."""
    if not isinstance(document, dict):
        return None
    try:
        return ActiveConfiguration.of(BerthConfiguration.model_validate(document)).document
    except (ValidationError, ConfigurationInvalid):
        return None


def _subject(user: object) -> Subject | None:
    """Of the fields of a SelfSubjectReview's userInfo."""
    if not isinstance(user, dict) or not isinstance(user.get("username"), str):
        return None
    return Subject(user["username"], tuple(user.get("groups") or ()))
