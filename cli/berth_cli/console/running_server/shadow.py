"""What the second policy of a running `berth serve` does, by its route /shadow."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ValidationError

from berth_cli.console.documents.not_read import NotRead
from berth_cli.console.policy.shadow import NO_SHADOW
from berth_cli.console.running_server.server import NoAnswer, RunningServer


class _Rule(BaseModel):
    plugin: str
    reason: str
    nodes: int


class _Disagreement(BaseModel):
    """With the keys that the page reads."""

    time: float
    namespace: str
    name: str
    result: str
    before: str | None
    after: str | None
    rules: list[_Rule]


class _Answer(BaseModel):
    decisions: dict[str, int]
    disagreements: list[_Disagreement]


def server_shadow(server: RunningServer) -> Mapping[str, object] | NotRead:
    """A server without --shadow has no such route."""
    content = server.document("shadow", "disagreements")
    if isinstance(content, NoAnswer):
        return NotRead(NO_SHADOW if content.status == 404 else content.reason)
    try:
        return _Answer.model_validate(content).model_dump(mode="json")
    except ValidationError:
        return NotRead(f"{server.address}: /shadow cannot be read; is it of this release?")
