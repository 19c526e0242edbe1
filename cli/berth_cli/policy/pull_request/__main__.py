"""Compare the policy of a pull request with that of its base, and comment on the pull request.

`action.yml` runs it. The exit status is that of `berth policy diff`. A comment that GitHub refuses is a warning: the
summary of the run has the same text.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from berth_cli.cluster_files.documents import parse_objects
from berth_cli.input_files import InvalidInput, read_input
from berth_cli.policy.diff.from_dump import DiffRequest, PodSelection, diff_policies, objects_to_place, schedulers_of
from berth_cli.policy.diff.policy_diff import MOVED, NEWLY_PENDING, PolicyDiff, headline
from berth_cli.policy.diff.report import markdown
from berth_cli.policy.pull_request.base_policy import KUBE_SCHEDULER_ALONE, Git, base_policy, run_git
from berth_cli.policy.pull_request.comment import CommentRefused, GitHub
from berth_cli.policy.pull_request.event import Inputs, PullRequest, read_inputs, read_pull_request
from berth_cli.simulate.policy_options import read_policy


@dataclass(frozen=True, slots=True)
class Report:
    """`text`: Markdown. `figures`: outputs of the action."""

    status: int
    text: str
    figures: Mapping[str, int]


def main(environment: Mapping[str, str], git: Git) -> int:
    """Compare, comment, and return the exit status."""
    inputs, pull_request = None, None
    try:
        inputs = read_inputs(environment)
        pull_request = read_pull_request(_event(environment))
        report = _compare(inputs, pull_request, git, Path(environment.get("RUNNER_TEMP") or "."))
    except InvalidInput as error:
        print(f"::error::{_command_value(error.message)}")
        text = f"The policies cannot be compared:\n\n{_indented(error.message)}\n"
        report = Report(InvalidInput.exit_code, text, {})
    title = f"### Berth policy `{inputs.policy if inputs else ''}`\n\n"
    _append(environment.get("GITHUB_STEP_SUMMARY"), title + report.text)
    _append(environment.get("GITHUB_OUTPUT"), "".join(f"{name}={value}\n" for name, value in report.figures.items()))
    if inputs is not None and inputs.comments and pull_request is not None:
        _comment(environment, pull_request, inputs.policy, title + report.text)
    return report.status


def _compare(inputs: Inputs, pull_request: PullRequest | None, git: Git, temporary: Path) -> Report:
    commit = inputs.base or (pull_request.base if pull_request else "")
    if not commit:
        raise InvalidInput("the event is no pull request; give the input base: the commit to compare with")
    before = base_policy(git, commit, inputs.policy)
    with TemporaryDirectory(dir=temporary) as folder:
        old = Path(folder) / f"base-{Path(inputs.policy).name}"
        old.write_bytes(KUBE_SCHEDULER_ALONE if before is None else before)
        policies = read_policy(old), read_policy(Path(inputs.policy))
    request = DiffRequest(*policies, PodSelection.ALL, schedulers_of(*policies), inputs.weight)
    objects = objects_to_place(parse_objects(read_input(inputs.dump), str(inputs.dump)), request)
    diff = diff_policies(objects, str(inputs.dump), request)
    exceeded = list(inputs.limits.exceeded(diff))
    # Figures alone: a line of the table that begins with `::` would be a command to the runner.
    print(headline(diff), *exceeded, sep="\n")
    note = "" if before is not None else "The base has no such policy. BEFORE is kube-scheduler alone.\n\n"
    text = "\n".join(markdown(diff, exceeded))
    return Report(1 if exceeded else 0, f"{note}{text}\n", _figures(diff))


def _figures(diff: PolicyDiff) -> Mapping[str, int]:
    return {"newly-pending": len(diff.pods(NEWLY_PENDING)), "moved": len(diff.pods(MOVED))}


def _comment(environment: Mapping[str, str], pull_request: PullRequest, policy: str, text: str) -> None:
    api = environment.get("GITHUB_API_URL") or "https://api.github.com"
    github = GitHub(api, environment.get("GITHUB_REPOSITORY", ""), environment.get("GITHUB_TOKEN", ""))
    try:
        github.upsert_comment(pull_request.number, f"<!-- berth policy diff: {policy} -->", text)
    except CommentRefused as error:
        print(f"::warning::no comment on the pull request: {_command_value(str(error))}")


def _event(environment: Mapping[str, str]) -> bytes:
    path = environment.get("GITHUB_EVENT_PATH")
    return read_input(Path(path)) if path else b""


def _append(file: str | None, text: str) -> None:
    if file:
        with Path(file).open("a", encoding="utf-8") as opened:
            opened.write(text)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _command_value(text: str) -> str:
    """A value in a workflow command: a line of its own would be a command of its own."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


if __name__ == "__main__":
    sys.exit(main(os.environ, run_git))
