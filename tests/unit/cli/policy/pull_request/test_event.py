"""The event of a run, and the inputs of the action."""

from __future__ import annotations

from pathlib import Path

import pytest

from berth_cli.input_files import InvalidInput
from berth_cli.policy.diff.policy_diff import Limit, Limits
from berth_cli.policy.pull_request.event import Inputs, PullRequest, read_inputs, read_pull_request

NEEDED = {"BERTH_POLICY": "berth.yaml", "BERTH_DUMP": "dump.json"}


def test_inputs_have_defaults() -> None:
    assert read_inputs(NEEDED) == Inputs("berth.yaml", Path("dump.json"), "", Limits(None, None), 1, comments=True)


def test_reads_all_inputs() -> None:
    given = {"BERTH_BASE": "abc", "BERTH_MAX_PENDING": "0", "BERTH_MAX_MOVED": "5%", "BERTH_WEIGHT": "13"}
    wanted = Limits(Limit(0), Limit(5, per_cent=True))
    assert read_inputs(NEEDED | given | {"BERTH_COMMENT": "false"}) == Inputs(
        "berth.yaml", Path("dump.json"), "abc", wanted, 13, comments=False
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param({"BERTH_POLICY": ""}, "the input policy is empty", id="no policy"),
        pytest.param({"BERTH_DUMP": ""}, "the input dump is empty", id="no dump"),
        pytest.param({"BERTH_MAX_MOVED": "some"}, "max-pending or max-moved: 'some'", id="no limit"),
        pytest.param({"BERTH_WEIGHT": "0"}, "the input weight is '0'", id="no weight"),
    ],
)
def test_names_an_input_that_is_wrong(given: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_inputs(NEEDED | given)


@pytest.mark.parametrize(
    ("event", "wanted"),
    [
        pytest.param(b'{"pull_request": {"number": 7, "base": {"sha": "abc"}}}', PullRequest(7, "abc"), id="its own"),
        pytest.param(b'{"ref": "refs/heads/main"}', None, id="a push"),
        pytest.param(b'{"pull_request": {"number": "7"}}', None, id="another form"),
        pytest.param(b"", None, id="no event"),
    ],
)
def test_finds_the_pull_request_of_an_event(event: bytes, wanted: PullRequest | None) -> None:
    assert read_pull_request(event) == wanted
