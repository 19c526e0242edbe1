"""The base of all plugins' arguments. Custom plugins import it by this path."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Args(BaseModel):
    """The arguments of a plugin, named as in KubeSchedulerConfiguration. Unknown arguments are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class NoArgs(Args):
    """The arguments of a plugin that does not take any."""
