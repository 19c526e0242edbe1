"""`preemption:` in a configuration."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Choose(StrEnum):
    """ALL: every node that the policy agrees to, for the scheduler to choose from. ONE: the best of them alone."""

    ONE = "one"
    ALL = "all"


class PreemptionConfiguration(BaseModel):
    """choose: `one` or `all`. One where no other extender is asked after Berth: the scheduler has no choice left."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    choose: Choose = Choose.ALL
