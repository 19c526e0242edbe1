"""A pod as the cache keeps it: what is its own, and as text what it shares with its controller's other pods."""

from __future__ import annotations

from collections.abc import Container
from sys import intern

import orjson

from berth.scheduling.objects.picking import as_far_as_given
from berth.scheduling.objects.pod_fields import is_placed, own_part, shared_part
from berth.scheduling.objects.reading import Object

SHARED = "shared"
"""The field of a compact pod that a v1.Pod does not have."""

_EXCHANGED = bytes.maketrans(b"\"'", b"'\"")
"""Single and double quotes: text with single ones needs no escapes where it stands in JSON."""


def compact_pod(obj: Object, annotations: Container[str] = ()) -> Object:
    """The own part of `pod_fields`, and the shared part as text under SHARED.

    As text it is one object for all pods that have it in common, and is found again without being decoded. Raises
    JSONEncodeError where there are keys or values that JSON has not.
    """
    shared = orjson.dumps(shared_part(obj, placed=is_placed(obj)), option=orjson.OPT_SORT_KEYS)
    return as_far_as_given(own_part(obj, annotations), obj) | {SHARED: intern(shared.translate(_EXCHANGED).decode())}


def decoded_shared_part(source: str) -> object:
    """What stands under SHARED, which may be anything. Raises JSONDecodeError."""
    return orjson.loads(source.encode(errors="replace").translate(_EXCHANGED))
