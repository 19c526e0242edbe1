"""Places the pods of a case, compares the result with the expectations, and reports each failed expectation."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from berth.cluster.dump_objects import DEFAULT_NAMESPACE
from berth.scheduling.framework.plugin import Status
from berth.scheduling.reason_code import REASON_CODES_VERSION, ReasonCode
from berth_cli.placement.changed_objects import PodName
from berth_cli.placement.policy.cases import Case, PodExpectation
from berth_cli.placement.queue import read_queue
from berth_cli.placement.report import left_out, require_pods
from berth_cli.placement.run import Place, PlaceKind, RunRecorder
from berth_cli.placement.scheduler.control_loop import Outcome, control_loop_of
from berth_cli.terminal.input_files import names_instead

NODES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed expectation. `details`: lines such as verdicts on nodes. `codes`: the codes of the actual reasons."""

    pod: str
    expected: str
    found: str
    details: tuple[str, ...] = ()
    codes: tuple[ReasonCode, ...] = ()

    def __str__(self) -> str:
        return f"{self.pod}: expected {self.expected}, found {self.found}"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of a case. `failures`: in the order of the expectations; empty if the case passes."""

    case: Case
    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class _PlacedPod:
    """A pod that was queued or evicted, with its final place and the verdicts on the nodes."""

    name: str
    place: Place
    rejected: Mapping[str, Status]
    totals: Mapping[str, int]
    nodes: Collection[str]


def run_case(case: Case, schedulers: Collection[str] = ()) -> CaseResult:
    """Place the pods of the case. Raises InvalidInput if its cluster or pods cannot be read, or no pod can be queued.

    schedulers: the schedulers whose pending pods are placed; empty for the default scheduler and those in the policy's
    `profiles`.
    """
    cluster, queue = read_queue(case.objects, case.place, case.configuration, schedulers, case.manifests)
    require_pods(queue, case.place)
    loop = control_loop_of(case.configuration, cluster.snapshot, weight=case.weight, explain_placed=True)
    recorder, outcomes = RunRecorder(), dict[PodName, Outcome]()
    for each in loop.run(queue.pods):
        recorder.add(each)
        outcomes[each.pod.namespace, each.pod.name] = each
    run = recorder.finish(loop.snapshot, case.configuration.counting)
    placed = []
    for name, place in run.places.items():
        outcome = outcomes.get(name)  # None for a pod that was evicted from its node
        rejected = outcome.rejected if outcome else {}
        totals = dict(zip(outcome.candidates, outcome.totals, strict=False)) if outcome else {}
        placed.append(_PlacedPod("/".join(name), place, rejected, totals, run.nodes.keys()))
    return CaseResult(case, tuple(_failures(case.expect, placed, tuple(left_out(queue, {})))))


def _failures(
    expect: Mapping[str, PodExpectation], placed: Sequence[_PlacedPod], not_placed: tuple[str, ...]
) -> Iterator[Failure]:
    """Yield the failed expectations. `not_placed`: lines about pods that were left out; they explain a missing pod."""
    for pattern, expectation in expect.items():
        qualified = pattern if "/" in pattern else f"{DEFAULT_NAMESPACE}/{pattern}"
        matching = [pod for pod in placed if fnmatchcase(pod.name, qualified)]
        if not matching:
            names = ", ".join(pod.name for pod in placed[:NODES_SHOWN]) or "none"
            yield Failure(qualified, "such a pod among those to place", names, not_placed)
        for pod in matching:
            yield from _failures_of(pod, expectation)


def _failures_of(pod: _PlacedPod, expectation: PodExpectation) -> Iterator[Failure]:
    is_pending = pod.place.kind is not PlaceKind.NODE
    if expectation.node is not None and not _matches(pod.place.node, expectation.node):
        yield _not_on(pod, expectation.node)
    if expectation.pending is not None and expectation.pending is not is_pending:
        yield Failure(pod.name, "no node" if expectation.pending else "a node", _found(pod))
    codes = tuple(dict.fromkeys(rule.code for rule in pod.place.rules if rule.code))
    if expectation.reason is not None and not _gives(expectation.reason, pod.place.message, codes):
        wanted = f"a reason with {expectation.reason!r}"
        yield Failure(pod.name, wanted, pod.place.message or _found(pod), codes=codes)
    for node, reason in expectation.rejected.items():
        yield from _wrong_rejections(pod, node, reason)


def _not_on(pod: _PlacedPod, patterns: Collection[str]) -> Failure:
    shown = [node for node in pod.nodes if _matches(node, patterns)][:NODES_SHOWN]
    codes = [code for node in shown if node in pod.rejected for code in pod.rejected[node].reason_codes]
    details = tuple(_about_nodes(pod, shown))
    return Failure(pod.name, f"node {' or '.join(patterns)}", _found(pod), details, tuple(dict.fromkeys(codes)))


def _wrong_rejections(pod: _PlacedPod, pattern: str, reason: str) -> Iterator[Failure]:
    expected = f"{pattern} rejected with {reason!r}"
    nodes = [node for node in pod.nodes if fnmatchcase(node, pattern)]
    if not nodes:
        yield Failure(pod.name, expected, f"no such node; {names_instead(pattern, [*pod.nodes])}")
    for node in nodes:
        status = pod.rejected.get(node)
        codes = () if status is None else status.reason_codes
        if status is None or not _gives(reason, status.message, codes):
            yield Failure(pod.name, expected, _verdict(node, status), codes=codes)


def _gives(reason: str, message: str, codes: Collection[ReasonCode]) -> bool:
    """Return whether the message contains the reason, or the reason is one of the codes."""
    return reason in codes or reason in message


def _matches(node: str, patterns: Collection[str]) -> bool:
    return bool(node) and any(fnmatchcase(node, pattern) for pattern in patterns)


def _found(pod: _PlacedPod) -> str:
    if pod.place.kind is PlaceKind.NODE:
        return pod.place.node
    return f"no node: {pod.place.message}" if pod.place.message else "no node"


def _about_nodes(pod: _PlacedPod, expected: Sequence[str]) -> Iterator[str]:
    """Yield the verdicts on the expected nodes, and the score of the pod's node."""
    if not expected:
        yield "no node has such a name"
    for node in (*expected, *([pod.place.node] if pod.place.node in pod.totals else ())):
        total = pod.totals.get(node)
        yield f"{node}: total {total}" if total is not None else _verdict(node, pod.rejected.get(node))


def _verdict(node: str, status: Status | None) -> str:
    return f"{node}: not rejected" if status is None else f"{node}: {status.plugin}: {status.message}"


def lines(results: Sequence[CaseResult]) -> Iterator[str]:
    """Yield one line for each case, followed by its failed expectations."""
    for result in results:
        yield f"{'FAIL' if result.failures else 'pass'}  {result.case.place}  {result.case.name}"
        for failure in result.failures:
            yield f"      {failure}"
            yield from (f"        {detail}" for detail in failure.details)
    failed = sum(bool(result.failures) for result in results)
    yield f"{len(results)} cases: {len(results) - failed} passed, {failed} failed"


def document(results: Sequence[CaseResult]) -> dict[str, object]:
    """Build the document for programs."""
    failed = sum(bool(result.failures) for result in results)
    return {
        "reasonCodesVersion": REASON_CODES_VERSION,
        "cases": [
            {
                "name": result.case.name,
                "file": str(result.case.file),
                "line": result.case.line,
                "passed": not result.failures,
                "failures": [
                    {
                        "pod": failure.pod,
                        "expected": failure.expected,
                        "found": failure.found,
                        "details": list(failure.details),
                        "reasonCodes": list(failure.codes),
                    }
                    for failure in result.failures
                ],
            }
            for result in results
        ],
        "passed": len(results) - failed,
        "failed": failed,
    }
