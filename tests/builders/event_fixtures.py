"""The files of events/: the event for each function, and the expected response (events/README.md).

`python -m tests.builders.event_fixtures` writes the files that contain only bodies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

EVENTS = Path(__file__).resolve().parents[2] / "events"
EXPECTED = ".expected.json"
BODY = ".body.json"
# The authorizer's fixtures assume this password.
PASSWORD = {"username": "berth", "password": "example-password"}
# The fixtures of functions with a route assume this allow-list.
ALLOW_LIST = EVENTS / "allow-list"


@dataclass(frozen=True, slots=True)
class EventFixture:
    """An event with its expected answer. `name`: such as `filter/cache-mode`; `needs_password`: whether the authorizer
    must check Basic credentials."""

    name: str
    function: str
    event: Mapping[str, Any]
    expected: Mapping[str, Any]
    needs_password: bool


def read_fixtures() -> list[EventFixture]:
    """Return all fixtures. Raises FileNotFoundError for an event without an expected answer: it would prove nothing."""
    fixtures = []
    for path in sorted(EVENTS.glob("*/*.json")):
        if not path.name.endswith((EXPECTED, BODY)):
            expected = orjson.loads(path.with_name(path.stem + EXPECTED).read_bytes())
            needs = expected.pop("needs", "")
            fixtures.append(
                EventFixture(
                    f"{path.parent.name}/{path.stem}",
                    path.parent.name,
                    orjson.loads(path.read_bytes()),
                    expected,
                    needs == "basic",
                )
            )
    return fixtures


def bodies(fixtures: Iterable[EventFixture]) -> dict[Path, Mapping[str, Any]]:
    """Return the bodies that curl can send instead of events, by file: JSON objects that are not in Base64."""
    found: dict[Path, Mapping[str, Any]] = {}
    known: set[tuple[str, bytes]] = set()
    for fixture in fixtures:
        try:
            body = orjson.loads(fixture.event.get("body") or "")
        except orjson.JSONDecodeError:
            continue
        identity = (fixture.function, orjson.dumps(body))
        if isinstance(body, dict) and identity not in known:
            known.add(identity)
            found[EVENTS / f"{fixture.name}{BODY}"] = body
    return found


def decoded(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return a function's answer in the format of expected files: of an HTTP answer, the status and the parsed body."""
    if "statusCode" in answer:
        return {"statusCode": answer["statusCode"], "body": orjson.loads(answer["body"])}
    return dict(answer)


def matches(expected: Mapping[str, Any], answer: Mapping[str, Any]) -> bool:
    """Return whether a decoded answer matches. Only its top level, for HTTP its body's, may have additional keys."""
    if "statusCode" in expected:
        return answer.get("statusCode") == expected["statusCode"] and _listed_is_equal(
            expected["body"], answer.get("body")
        )
    return _listed_is_equal(expected, answer)


def _listed_is_equal(expected: Any, answer: Any) -> bool:
    if isinstance(expected, Mapping) and isinstance(answer, Mapping):
        return all(key in answer and answer[key] == value for key, value in expected.items())
    return bool(expected == answer)


def write_bodies() -> None:
    """Write the bodies of all events, and delete all other body files."""
    wanted = bodies(read_fixtures())
    for path in EVENTS.glob(f"*/*{BODY}"):
        path.unlink()
    for path, body in wanted.items():
        path.write_bytes(orjson.dumps(body, option=orjson.OPT_INDENT_2) + b"\n")


if __name__ == "__main__":
    write_bodies()
