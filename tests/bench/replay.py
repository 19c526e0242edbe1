"""`python -m tests.bench.replay [-n DECISIONS] [--most SECONDS]`: a day of a scheduler, recorded and made again.

1,000 nodes with 30 pods each. Every pod has a filter and a prioritize call, is bound where kube-scheduler has room for
it, and takes the place of an older one: a new version for each pod. Of each profile the same decisions are made again,
and compared with the other profile.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path

from berth import __version__
from berth.cluster.dump.dump_watch import ALL
from berth.cluster.field_projection import projections
from berth.cluster.watch.resources import NODES as NODES_RESOURCE
from berth.decisions.repeatable import pod_document
from berth.nodecache.feed.changes import Change
from berth.nodecache.snapshot_view import SnapshotView
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.objects.projection import compact_pod
from berth_cli.policy.diff.from_recording import diff_recording
from berth_cli.recording.digest import digest_of_scores, digest_of_verdicts
from berth_cli.recording.format import AppliedPolicy, DecisionLine, Header, RecordingWriter, State, read_recording
from berth_cli.recording.replay import RecordedDecision, RecordedDecisions, replay
from tests.bench import cluster
from tests.bench.cluster import Manifest
from tests.bench.figures import Family, Figure
from tests.bench.process import peak_megabytes

NODES, DAY = 1_000, 100_000
"""The target is for a day of so many decisions."""

MOST_PODS = 110
"""On a node, by kube-scheduler's own plugins: label-priority alone puts a whole day on one node."""

DECISIONS = 4_000
TARGET_SECONDS = 300.0
PROFILES = ("label-priority", "full")
START = 1_800_000_000.0


def families() -> Iterator[Family]:
    """By profile, a short day: the figures are for a whole one."""
    for profile in PROFILES:
        yield Family(f"replay.{profile}", partial(figures, profile, DECISIONS))


def figures(profile: str, decisions: int) -> Iterator[Figure]:
    """Each in a process of its own, which tells its peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "day.rec"
        write_day(path, profile, decisions)
        yield Figure(f"replay.{profile}.{NODES}.bytes", path.stat().st_size / decisions, "B/decision")
        for kind in ("same", "other"):
            first, others, megabytes = _measured(path, profile, kind)
            name = f"replay.{profile}.{kind}.{NODES}"
            yield Figure(f"{name}.seconds", first + others * DAY / decisions, "s/day", TARGET_SECONDS)
            yield Figure(f"{name}.peak", megabytes, "MB")


def write_day(path: Path, profile: str, decisions: int) -> None:
    """A recording of so many decisions by this profile."""
    configuration = BerthConfiguration(profile=profile)
    policy, view, writer = configuration.policy(), SnapshotView(), RecordingWriter(path, Header(START, __version__))
    trim = projections(ALL)[NODES_RESOURCE]
    pods = [_placed(index, node) for index, node in _places()]
    changes = [Change("nodes", cluster.node_name(index), trim(cluster.node_manifest(index))) for index in range(NODES)]
    state = view.applied(view.empty(), [*changes, *map(_change, pods)])
    writer.state(State(1, [*changes, *map(_change, pods)], is_whole=True))
    writer.policy(AppliedPolicy("", configuration.model_dump(mode="json", by_alias=True)))
    running, names = deque(pods), cycle(cluster.requested_names(NODES))
    on_node = Counter(pod["spec"]["nodeName"] for pod in pods)
    for number in range(decisions // 2):
        manifest, asked = _pod(number), next(names)
        pod = read_pod(manifest)
        assert isinstance(pod, Pod)
        found = policy.feasibility(pod, asked, state.snapshot)
        scores = policy.scores(pod, found.feasible, state.snapshot)
        for verb, outcome, nodes, digest in (
            ("filter", "feasible" if found.feasible else "none-feasible", asked, digest_of_verdicts(found.verdicts)),
            ("prioritize", "scored", found.feasible, digest_of_scores(scores)),
        ):
            if nodes:
                at = START + number
                document = pod_document(pod)
                writer.decision(DecisionLine(at, verb, outcome, number + 1, "", document, nodes, (), digest))
        with_room = (
            (score, name) for score, name in zip(scores, found.feasible, strict=True) if on_node[name] < MOST_PODS
        )
        node = max(with_room, default=(0, ""))[1]
        gone, come = [], []
        if node:
            gone = [running.popleft()]
            come = [compact_pod(manifest | {"spec": manifest["spec"] | {"nodeName": node}})]
            running += come
            on_node[node] += 1
            on_node[gone[0]["spec"]["nodeName"]] -= 1
        changes = [*(Change("pods", _key(each), None) for each in gone), *map(_change, come)]
        state = view.applied(state, changes)
        writer.state(State(number + 2, changes, is_whole=False))
    writer.close()


def _places() -> Iterator[tuple[int, str]]:
    for index in range(NODES * cluster.PODS_PER_NODE):
        yield index, cluster.node_name(index // cluster.PODS_PER_NODE)


def _placed(index: int, node: str) -> Manifest:
    manifest = cluster.pod_manifest(index * 7 % cluster.CONTROLLERS)
    manifest["metadata"] |= {"name": f"old-{index}", "uid": f"uid-old-{index}"}
    manifest["spec"]["nodeName"] = node
    found: Manifest = compact_pod(manifest)
    return found


def _pod(number: int) -> Manifest:
    manifest = cluster.pod_manifest(number % cluster.CONTROLLERS)
    manifest["metadata"] |= {"name": f"new-{number}", "uid": f"uid-new-{number}"}
    return manifest


def _key(pod: Manifest) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _change(pod: Manifest) -> Change:
    return Change("pods", _key(pod), pod)


def _measured(path: Path, profile: str, kind: str) -> tuple[float, float, float]:
    """The same, of a process that does nothing else."""
    command = [sys.executable, "-m", "tests.bench.replay", "--only", kind, "--profile", profile, str(path)]
    first, others, megabytes = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return first, others, megabytes


class _Timed(RecordedDecisions):
    """first: when the first decision came, in seconds of the processor: the whole state is read until then."""

    first = 0.0

    def __iter__(self) -> Iterator[RecordedDecision]:
        for decision in super().__iter__():
            self.first = self.first or time.process_time()
            yield decision


def _replay(path: Path, profile: str, kind: str) -> tuple[float, float, float]:
    """Seconds until the first decision and from then on, and the peak memory in MB."""
    recorded, started = _Timed(read_recording(path)), time.process_time()
    if kind == "same":
        found = replay(recorded)
        if found.differing:
            raise RuntimeError(f"{found.differing} of {found.decisions} decisions differ")
    else:
        [other] = [each for each in PROFILES if each != profile]
        diff_recording(recorded, None, BerthConfiguration(profile=other).policy(), str(path))
    return recorded.first - started, time.process_time() - recorded.first, peak_megabytes()


def main(arguments: Sequence[str] | None = None) -> int:
    """The whole day, with exit status 1 beyond the limit; with --only the part of one process."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.replay", description=__doc__)
    parser.add_argument("-n", "--decisions", type=int, default=DAY)
    parser.add_argument("--most", type=float, help="seconds of a processor that a day may take")
    parser.add_argument("--profile", choices=PROFILES, help="default: all")
    parser.add_argument("--only", choices=("same", "other"), help=argparse.SUPPRESS)
    parser.add_argument("recording", nargs="?", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.only:
        print(json.dumps(_replay(given.recording, given.profile, given.only)))
        return 0
    exceeded = False
    for profile in [given.profile] if given.profile else PROFILES:
        for figure in figures(profile, given.decisions):
            print(f"{figure.name:<44}{figure.value:>10.1f} {figure.unit}", flush=True)
            exceeded |= given.most is not None and figure.unit == "s/day" and figure.value > given.most
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
