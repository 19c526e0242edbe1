"""The comment on a pull request, against GitHub's API on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from berth_cli.policy.pull_request.comment import LONGEST, CommentRefused, GitHub, truncated
from tests.fakes.github import REPOSITORY, TOKEN, FakeGitHub, fake_github

MARKER = "<!-- berth policy diff: berth.yaml -->"


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with fake_github() as server:
        yield server


def comment(github: FakeGitHub, text: str, token: str = TOKEN) -> None:
    GitHub(github.address, REPOSITORY, token).upsert_comment(7, MARKER, text)


def test_the_first_run_creates_a_comment_and_later_ones_change_it(github: FakeGitHub) -> None:
    comment(github, "first")
    comment(github, "second")
    assert github.comments == {1: f"{MARKER}\nsecond"}
    assert [method for method, _ in github.requests] == ["GET", "POST", "GET", "PATCH"]


def test_finds_its_comment_after_hundreds_of_others(github: FakeGitHub) -> None:
    github.comments = {number: f"comment {number}" for number in range(1, 251)} | {251: f"{MARKER}\nfirst"}
    comment(github, "second")
    assert (len(github.comments), github.comments[251]) == (251, f"{MARKER}\nsecond")


def test_leaves_the_comment_of_another_policy(github: FakeGitHub) -> None:
    github.comments = {1: "<!-- berth policy diff: other.yaml -->\nother"}
    comment(github, "first")
    assert github.comments[2] == f"{MARKER}\nfirst"


def test_creates_its_own_where_the_one_with_the_marker_cannot_be_changed(github: FakeGitHub) -> None:
    github.comments, github.refuses = {1: f"{MARKER}\nof somebody else"}, {"PATCH"}
    comment(github, "first")
    assert github.comments[2] == f"{MARKER}\nfirst"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_token_without_the_permission_is_refused_with_a_remedy(github: FakeGitHub, method: str) -> None:
    github.refuses = {method}
    with pytest.raises(CommentRefused, match=r"status 403: Resource not accessible.*pull-requests: write"):
        comment(github, "first")


def test_a_server_that_does_not_answer_is_named() -> None:
    with pytest.raises(CommentRefused, match=r"http://127.0.0.1:1 does not answer"):
        GitHub("http://127.0.0.1:1", REPOSITORY, TOKEN).upsert_comment(7, MARKER, "text")


def test_a_long_comment_is_cut_at_a_line() -> None:
    assert truncated("short") == "short"
    long = "\n".join(["x" * 99] * 1000)
    assert len(truncated(long)) <= LONGEST
    assert truncated(long).splitlines()[-1] == "The comment is too long; the summary of the run has the rest."
    assert set(truncated(long).splitlines()[:-2]) == {"x" * 99}
