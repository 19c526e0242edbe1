"""Decoding of watch events and of error responses."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from berth.cluster.watch.resources import MalformedObject, Status, decode, read_status
from berth.nodecache.feed.cluster import Added, Bookmark, Deleted, KubernetesObject, Modified
from tests.unit.cluster.taking import without_managed_fields


def line(kind: str, found: object) -> bytes:
    return orjson.dumps({"type": kind, "object": found})


def pod(**metadata: Any) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": "p", "resourceVersion": "12", **metadata}}


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        pytest.param(line("ADDED", pod()), Added(pod(), "12"), id="ADDED"),
        pytest.param(line("MODIFIED", pod()), Modified(pod(), "12"), id="MODIFIED"),
        pytest.param(line("DELETED", pod()), Deleted(pod(), "12"), id="DELETED"),
        pytest.param(line("BOOKMARK", {"metadata": {"resourceVersion": "13"}}), Bookmark("13"), id="BOOKMARK"),
        pytest.param(line("ADDED", pod(managedFields=[{"manager": "kubectl"}])), Added(pod(), "12"), id="not managed"),
        pytest.param(line("ADDED", pod()) + b"\r", Added(pod(), "12"), id="white space after it"),
        pytest.param(
            line("ADDED", pod(resourceVersion="not-a-number")),
            Added(pod(resourceVersion="not-a-number"), "not-a-number"),
            id="a resourceVersion is opaque",
        ),
        pytest.param(
            line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}),
            Status(410, "Expired", "too old resource version"),
            id="ERROR",
        ),
    ],
)
def test_decodes_events_of_a_watch(raw: bytes, wanted: object) -> None:
    assert decode(raw, without_managed_fields) == wanted


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="an empty line"),
        pytest.param(b'{"type":"ADDED","object":{"metadata":{"resourceVers', id="half a line"),
        pytest.param(b"\xff\xfe", id="not text"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"null", id="null"),
        pytest.param(b'{"type":"ADDED"}', id="not an object"),
        pytest.param(line("ADDED", None), id="null instead of an object"),
        pytest.param(line("ADDED", {"kind": "Pod"}), id="no metadata"),
        pytest.param(line("ADDED", {"metadata": "?"}), id="invalid metadata"),
        pytest.param(line("ADDED", pod(resourceVersion="")), id="an empty resourceVersion"),
        pytest.param(line("ADDED", pod(resourceVersion=12)), id="a resourceVersion that is a number"),
        pytest.param(line("BOOKMARK", {"metadata": {}}), id="a bookmark without a resourceVersion"),
        pytest.param(line("SYNCED", pod()), id="an unknown type"),
        pytest.param(orjson.dumps({"type": ["ADDED"], "object": pod()}), id="a type that is not a string"),
    ],
)
def test_rejects_malformed_events_of_a_watch(raw: bytes) -> None:
    with pytest.raises(MalformedObject):
        decode(raw, without_managed_fields)


def test_rejects_object_whose_projection_fails() -> None:
    def trim(found: KubernetesObject) -> KubernetesObject:
        raise KeyError("spec")

    with pytest.raises(MalformedObject, match="KeyError"):
        decode(line("ADDED", pod()), trim)


TOO_LARGE = {
    "kind": "Status",
    "message": "Timeout: Too large resource version: 99999999, current: 284",
    "reason": "Timeout",
    "details": {"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]},
    "code": 504,
}


@pytest.mark.parametrize(
    ("content", "code", "expired"),
    [
        pytest.param({"code": 410, "reason": "Expired"}, 0, True, id="Expired"),
        pytest.param({"code": 410, "reason": "Gone"}, 0, True, id="Gone"),
        pytest.param({"reason": "Expired"}, 0, True, id="only the reason"),
        pytest.param({"reason": "Gone"}, 0, True, id="only the other reason"),
        pytest.param({"code": 410}, 0, True, id="only the code"),
        pytest.param({}, 410, True, id="only the HTTP status"),
        pytest.param(TOO_LARGE, 504, True, id="a version of the future"),
        pytest.param({"code": 504, "reason": "Timeout"}, 504, False, id="another timeout"),
        pytest.param({"code": 500, "reason": "InternalError"}, 500, False, id="an internal error"),
        pytest.param({"code": 429, "reason": "TooManyRequests"}, 429, False, id="too many requests"),
        pytest.param({"details": {"causes": "?"}}, 500, False, id="invalid details"),
        pytest.param({"details": None}, 500, False, id="no details"),
    ],
)
def test_reports_an_expired_resource_version(content: dict[str, object], code: int, expired: bool) -> None:
    assert read_status(content, code).expired is expired
