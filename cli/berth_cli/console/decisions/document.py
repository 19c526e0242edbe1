"""A record of a decision that another process has made, with the keys that the page reads."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from berth.decisions.document import VERSION


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class _Reason(_Part):
    code: str
    reason: str
    plugin: str
    count: int
    nodes: tuple[str, ...]


class _Best(_Part):
    node: str
    score: int
    by_plugin: dict[str, float] | None = Field(alias="byPlugin")


class DecisionHeader(_Part):
    """Of version 1. A later one cannot be read."""

    version: int = Field(le=VERSION)
    time: float
    verb: str
    namespace: str
    name: str
    uid: str
    outcome: str
    milliseconds: float

    @property
    def key(self) -> tuple[object, ...]:
        """The same for the same decision, however often it is read."""
        return self.time, self.verb, self.namespace, self.name, self.uid, self.milliseconds


class DecisionDocument(DecisionHeader):
    """With what was decided."""

    profile: str
    configuration_hash: str = Field(default="", alias="configurationHash")
    cache_age: float | None = Field(alias="cacheAgeSeconds")
    nodes: int
    feasible: int | None
    chosen: str | None
    reasons: tuple[_Reason, ...]
    best: tuple[_Best, ...]
    victims: dict[str, int] = {}
    error: str = ""

    def document(self) -> dict[str, object]:
        """For the page."""
        return self.model_dump(mode="json", by_alias=True)
