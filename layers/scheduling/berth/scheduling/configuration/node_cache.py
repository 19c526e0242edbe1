"""The settings of the node cache: how old data may be, and what a verb answers when it is older."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

EVENTUAL_READ_SECONDS = 1.0
"""What an eventually consistent read of DynamoDB may miss, usually."""


class WhenStale(StrEnum):
    """What a verb answers on old data. FAIL: an error with the data's age. PASS: a decision on the request alone."""

    FAIL = "fail"
    PASS = "pass"  # noqa: S105  # not a password


class WakeUp(StrEnum):
    """What the watcher touches so that the scheduler tries rejected pods again (fact 43).

    OBJECT: one inert CSIStorageCapacity. POD: a condition in the status of each rejected pod, where the object is not
    allowed. NONE: nothing; rejected pods wait for the scheduler's own flush.
    """

    OBJECT = "object"
    POD = "pod"
    NONE = "none"


class NodeCacheConfiguration(BaseModel):
    """The contract on freshness.

    maxStaleness: seconds; how old the data may be. whenStale: `fail` or `pass`. minHeadReadInterval: seconds for which
    a verb does without asking whether there is something newer. eventuallyConsistent: head reads at half the price,
    which may miss what was published a moment ago. wakeUp: `object`, `pod` or `none`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    max_staleness: float = Field(default=180, gt=0, le=86_400, alias="maxStaleness", allow_inf_nan=False, strict=True)
    when_stale: WhenStale = Field(default=WhenStale.FAIL, alias="whenStale")
    min_head_read_interval: float = Field(
        default=0, ge=0, le=60, alias="minHeadReadInterval", allow_inf_nan=False, strict=True
    )
    eventually_consistent: bool = Field(default=False, alias="eventuallyConsistent", strict=True)
    wake_up: WakeUp = Field(default=WakeUp.OBJECT, alias="wakeUp")

    @property
    def readable_after(self) -> float:
        """Seconds after a publication in which a verb may still decide on the state before it."""
        return max(self.min_head_read_interval, EVENTUAL_READ_SECONDS if self.eventually_consistent else 0.0)
