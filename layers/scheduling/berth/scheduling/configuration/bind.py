"""`bind` of the configuration: which pods the verb bind binds, for every caller."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Names = Annotated[frozenset[str], Field(min_length=1)]


class BindConfiguration(BaseModel):
    """Which pods bind binds: those of these schedulers, in these namespaces. Without a list, of all of them.

    schedulerNames: bind reads each pod before it binds it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    scheduler_names: Names | None = Field(default=None, alias="schedulerNames")
    namespaces: Names | None = None

    def covers_namespace(self, namespace: str) -> bool:
        """Whether pods of this namespace may be bound."""
        return self.namespaces is None or namespace in self.namespaces

    def covers_scheduler(self, name: str) -> bool:
        """Whether pods that ask for this scheduler may be bound."""
        return self.scheduler_names is None or name in self.scheduler_names
