"""Responses to the gateway: which of them are compressed, and how large they may be."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest

from berth.runtime.http.events import COMPRESS_ABOVE_BYTES, MAX_ANSWER_BYTES, accepts_gzip, lambda_answer

GO = {"headers": {"accept-encoding": "gzip"}}
LARGE = b'{"a":"%s"}' % (b"x" * COMPRESS_ABOVE_BYTES)


def text_of(answer: Any) -> bytes:
    if not answer["isBase64Encoded"]:
        return str(answer["body"]).encode()
    return gzip.decompress(base64.b64decode(answer["body"], validate=True))


def test_compresses_large_response_for_a_caller_that_accepts_gzip() -> None:
    answer = lambda_answer(200, LARGE, GO)
    assert answer is not None
    assert answer["headers"] == {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert answer["isBase64Encoded"]
    assert text_of(answer) == LARGE
    assert len(answer["body"]) < len(LARGE) / 10


@pytest.mark.parametrize(
    ("body", "event"),
    [
        pytest.param(LARGE, {}, id="no headers"),
        pytest.param(LARGE, {"headers": {"accept-encoding": "identity"}}, id="gzip not accepted"),
        pytest.param(b'"%s"' % (b"x" * (COMPRESS_ABOVE_BYTES - 2)), GO, id="not above the limit"),
    ],
)
def test_does_not_compress_small_or_unrequested_responses(body: bytes, event: dict[str, object]) -> None:
    assert lambda_answer(200, body, event) == {
        "statusCode": 200,
        "headers": {"Content-Type": "application/json"},
        "body": body.decode(),
        "isBase64Encoded": False,
    }


@pytest.mark.parametrize(
    ("accepted", "wanted"),
    [
        ("gzip", True),
        ("GZIP", True),
        ("deflate, gzip;q=0.5", True),
        ("br,gzip ; q=1", True),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("gzip;q=often", False),
        ("*", False),
        ("xgzip", False),
        ("", False),
        (None, False),
        (["gzip"], False),
    ],
)
def test_accept_encoding_decides_whether_gzip_is_accepted(accepted: object, wanted: bool) -> None:
    assert accepts_gzip({"headers": {"accept-encoding": accepted}}) is wanted


def noise(size: int) -> bytes:
    """Return JSON text that does not compress below three quarters of its size."""
    import random

    return b'"%s"' % base64.b64encode(random.Random(7).randbytes(size * 3 // 4))


@pytest.mark.parametrize(
    ("body", "fits"),
    [
        pytest.param(b'"%s"' % (b"x" * 5_900_000), True, id="text"),
        pytest.param(b'"%s"' % (b"x" * 6_000_000), False, id="text above the limit"),
        pytest.param(b"[%s1]" % (b'"",' * 1_100_000), True, id="quotes, each escaped"),
        pytest.param(b"[%s1]" % (b'"",' * 1_300_000), False, id="4 MB of quotes, each escaped"),
        pytest.param('"{}"'.format("ü" * 1_100_000).encode(), False, id="2 MB, as escapes 6.6 MB"),
    ],
)
def test_uncompressed_response_above_the_lambda_limit_is_not_returned(body: bytes, fits: bool) -> None:
    answer = lambda_answer(200, body, {})
    assert (answer is not None) is fits
    assert answer is None or len(json.dumps(answer)) <= MAX_ANSWER_BYTES


@pytest.mark.parametrize(("size", "fits"), [(5_500_000, True), (6_100_000, False)])
def test_compressed_response_above_the_lambda_limit_is_not_returned(size: int, fits: bool) -> None:
    answer = lambda_answer(200, noise(size), GO)
    assert (answer is not None) is fits
    assert answer is None or len(json.dumps(answer)) <= MAX_ANSWER_BYTES


def test_large_response_fits_if_it_is_compressed() -> None:
    body = b'{"FailedNodes":{%s"n":"r"}}' % b"".join(b'"node-%d":"a reason",' % index for index in range(300_000))
    assert len(body) > MAX_ANSWER_BYTES
    assert lambda_answer(200, body, {}) is None
    assert lambda_answer(200, body, GO) is not None
