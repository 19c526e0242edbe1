"""`gangs` of the configuration: whether pods that belong together are placed all or none."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class GangsConfiguration(BaseModel):
    """enabled: filter plans gangs as a whole, and bind binds all members or none.

    timeout: seconds that an open gang waits for its members; a PodGroup or an annotation may say another time.
    maxMembers: a gang of a larger minimum is rejected.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    enabled: bool = Field(default=False, strict=True)
    timeout: float = Field(default=60, ge=1, le=3600, allow_inf_nan=False, strict=True)
    max_members: int = Field(default=1000, ge=1, le=5000, alias="maxMembers", strict=True)
