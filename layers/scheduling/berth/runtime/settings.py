"""What a function is told by its environment: names of things. How Berth behaves is BerthConfiguration's matter.

Read once, when the environment starts. An error names the variable.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, Json, ValidationError, model_validator

from berth.scheduling.configuration import BerthConfiguration


class SettingsInvalid(Exception):
    """The environment does not say what the function needs; one line per variable."""


class _Settings(BaseModel):
    """Fields are read from the variables that their aliases name; an empty variable counts as absent."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        """Raises SettingsInvalid."""
        try:
            return cls.model_validate({name: value for name, value in environ.items() if value})
        except ValidationError as error:
            raise SettingsInvalid(
                "; ".join(_line(detail["loc"], detail["msg"]) for detail in error.errors())
            ) from error


class CacheSettings(_Settings):
    """For every function that reads or writes the node cache."""

    cache_table: str = Field(alias="BERTH_CACHE_TABLE")


class PolicySettings(CacheSettings):
    """For the verbs that decide."""

    configuration: Json[BerthConfiguration] = Field(default=BerthConfiguration(), alias="BERTH_CONFIGURATION")
    """The BerthConfiguration, given as JSON."""


class ClusterSettings(_Settings):
    """For the functions that talk to a cluster: exactly one of a secret, a kubeconfig and a dump."""

    kubeconfig_secret: str = Field(default="", alias="BERTH_KUBECONFIG_SECRET")
    kubeconfig: Path | None = Field(default=None, alias="BERTH_KUBECONFIG")
    dump: Path | None = Field(default=None, alias="BERTH_CLUSTER_DUMP")

    @model_validator(mode="after")
    def _one_cluster(self) -> Self:
        given = [value for value in (self.kubeconfig_secret, self.kubeconfig, self.dump) if value]
        if len(given) != 1:
            raise ValueError("set exactly one of BERTH_KUBECONFIG_SECRET, BERTH_KUBECONFIG and BERTH_CLUSTER_DUMP")
        return self


class BindSettings(ClusterSettings):
    """`http_timeout`: the extender's httpTimeout in the scheduler's configuration, in seconds."""

    http_timeout: float = Field(default=5.0, gt=1.0, alias="BERTH_HTTP_TIMEOUT")


class WatcherSettings(CacheSettings, ClusterSettings):
    """The watcher reads a cluster and writes the cache."""


def _line(location: tuple[int | str, ...], message: str) -> str:
    return f"{'.'.join(map(str, location))}: {message}" if location else message
