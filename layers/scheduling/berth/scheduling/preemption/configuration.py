"""`preemption` of the configuration: which nodes the verb preempt answers."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Choose(StrEnum):
    """Which nodes preempt answers. ALL: every accepted node; the scheduler chooses. ONE: the best node alone."""

    ONE = "one"
    ALL = "all"


class PreemptionConfiguration(BaseModel):
    """choose: `one` or `all`. Use `one` only where no other extender follows: the scheduler cannot choose then."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    choose: Choose = Choose.ALL
