"""Reading the outer object of a request."""

from __future__ import annotations

import pytest

from berth.extender.arguments import MAX_BODY_BYTES, decode_object, folded, pod_named_in, pod_version_in
from berth.extender.outcomes import Failure, FailureOutcome


@pytest.mark.parametrize("body", ['{"A": 1}', b'{"A": 1}', ' \n{"a":1}\n'])
def test_reads_text_and_bytes_alike(body: str | bytes) -> None:
    assert decode_object(body) == {"a": 1}


def test_folds_keys_and_keeps_values() -> None:
    assert decode_object('{"NodeNames": ["N1"], "POD": {"Name": "P"}}') == {"nodenames": ["N1"], "pod": {"Name": "P"}}


@pytest.mark.parametrize("key", ["NodeNames", "nodenames", "NODENAMES", "nodeName\u017f"])
def test_matches_keys_like_go_encoding_json(key: str) -> None:
    assert list(folded({key: None})) == ["nodenames"]


def test_last_of_several_keys_that_differ_only_in_case_is_used() -> None:
    assert decode_object('{"pod": 1, "Pod": 2}') == {"pod": 2}


@pytest.mark.parametrize("letters", [pytest.param("xx", id="ASCII"), pytest.param("é", id="two bytes")])
def test_size_limit_is_exact(letters: str) -> None:
    body = '{"a":"' + letters + "x" * (MAX_BODY_BYTES - 10) + '"}'
    assert len(body.encode()) == MAX_BODY_BYTES
    assert isinstance(decode_object(body), dict)
    refused = decode_object(body + " ")
    assert isinstance(refused, Failure)
    assert refused.outcome is FailureOutcome.BAD_REQUEST


@pytest.mark.parametrize(
    ("body", "named"),
    [
        pytest.param('{"Pod": {"metadata": {"namespace": "ml", "name": "p"}}}', "ml/p", id="a pod"),
        pytest.param('{"PodNamespace": "ml", "PodName": "p"}', "ml/p", id="a binding"),
        pytest.param("not JSON", "", id="no request"),
        pytest.param("", "", id="no body"),
    ],
)
def test_error_names_pod_of_failed_request(body: str, named: str) -> None:
    assert pod_named_in(body) == named


SENT = '{"Pod":{"metadata":{"name":"p","namespace":"ns","uid":"u","resourceVersion":"42","annotations":{%s}}}}'


@pytest.mark.parametrize(
    ("body", "version"),
    [
        pytest.param(SENT % "", "42", id="text"),
        pytest.param((SENT % "").encode(), "42", id="bytes"),
        pytest.param(SENT % '"resourceVersion":"7"', "42", id="an annotation has the name of the field"),
        pytest.param(SENT % '"a":"é"', "42", id="letters of two bytes"),
        pytest.param('{"Pod":{"metadata":{"name":"p"}}}', "", id="none"),
        pytest.param("", "", id="empty"),
    ],
)
def test_finds_the_pods_version_without_decoding(body: str | bytes, version: str) -> None:
    assert pod_version_in(body) == version
