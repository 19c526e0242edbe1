"""What the runner of GitHub Actions says about a run: its event, and the inputs of the action."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from berth_cli.input_files import InvalidInput
from berth_cli.policy.diff.policy_diff import InvalidLimit, Limits, read_limit


@dataclass(frozen=True, slots=True)
class PullRequest:
    """`base`: the commit that it is to be merged into."""

    number: int
    base: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of the action. `policy`: a path in the repository. `base`: a commit; empty: of the pull request."""

    policy: str
    dump: Path
    base: str
    limits: Limits
    weight: int
    comments: bool


def read_inputs(environment: Mapping[str, str]) -> Inputs:
    """Raises InvalidInput, which names the input."""
    for name in ("POLICY", "DUMP"):
        if not environment.get(f"BERTH_{name}"):
            raise InvalidInput(f"the input {name.lower()} is empty")
    try:
        pending, moved = (environment.get(name, "") for name in ("BERTH_MAX_PENDING", "BERTH_MAX_MOVED"))
        limits = Limits(read_limit(pending) if pending else None, read_limit(moved) if moved else None)
    except InvalidLimit as error:
        raise InvalidInput(f"max-pending or max-moved: {error}") from error
    weight = environment.get("BERTH_WEIGHT") or "1"
    if not weight.isdecimal() or not int(weight):
        raise InvalidInput(f"the input weight is {weight!r}; give a number of 1 or more")
    return Inputs(
        environment["BERTH_POLICY"],
        Path(environment["BERTH_DUMP"]),
        environment.get("BERTH_BASE", ""),
        limits,
        int(weight),
        environment.get("BERTH_COMMENT", "true") == "true",
    )


def read_pull_request(event: bytes) -> PullRequest | None:
    """The pull request of an event; None for another kind of event."""
    try:
        match orjson.loads(event):
            case {"pull_request": {"number": int(number), "base": {"sha": str(base)}}}:
                return PullRequest(number, base)
    except orjson.JSONDecodeError:
        pass
    return None
