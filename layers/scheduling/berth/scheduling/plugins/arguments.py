"""The base of all plugins' arguments. Custom plugins import it by this path."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Args(BaseModel):
    """Arguments are named as in KubeSchedulerConfiguration; an unknown one is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class NoArgs(Args):
    """For plugins without arguments."""
