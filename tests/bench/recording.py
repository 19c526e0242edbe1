"""What records of decisions add to a warm call: on the thread of the call, in wall time, and in all threads.

The recorders take turns at the same verb on the same state, so that a busy machine slows all alike. A call that is
measured comes after calls that are not: with the same recorder where that writes nothing, as then a call pays for what
earlier records keep in memory; otherwise without records, so none pays for another one's writing. `log` is a call that
the sampled log counts, `log-line` the one of a hundred that it writes; the ratio of that one is what it adds to the
average of a hundred. `.processor` has all that a call and its record take. The table is DynamoDB's client with its
requests answered in the process, so their processor time counts and the network's time does not.

`recording.http` calls servers in processes of their own, in turns: what a caller waits for beside a thread that writes
or judges. There the second policy is `full`, which computes for longer than the one in force.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from itertools import cycle, product
from pathlib import Path
from queue import SimpleQueue
from random import Random
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, cast

import boto3
from botocore.awsrequest import AWSResponse
from botocore.config import Config

from berth import __version__
from berth.decisions.background import BackgroundRecorder
from berth.decisions.dynamodb_table import DynamoDBDecisionTable
from berth.decisions.recent import RecentDecisions
from berth.decisions.repeatable import RepeatableEncoder
from berth.decisions.sampled_log import ONE_OF, SampledLog
from berth.extender.decision import AnyDecision, DecisionRecorder
from berth.extender.outcomes import Outcome
from berth.runtime.decisions import RecorderByConfiguration
from berth.scheduling.configuration.decisions import Decisions
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.recording.format import Header, RecordingWriter
from berth_cli.recording.recorder import DecisionRecording
from berth_cli.serve.shadow import ShadowPolicy
from tests.bench import cluster
from tests.bench.figures import Family, Figure
from tests.bench.http_calls import Servers, request_bodies
from tests.builders.requests import body_of, cache_mode
from tests.fakes.verbs import Verbs

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

VERBS = ("filter", "prioritize")
KINDS = ("none", "memory", "log", "log-line", "table", "record", "shadow")
POLICIES = {name: BerthConfiguration(profile=name) for name in ("label-priority", "full")}
WARM_UP, CALLS_BEFORE = 20, 3
CALLS = {1_000: 1_000, 5_000: 300}
"""By nodes. A call on 1,000 nodes takes 0.3 ms: with so many, a recorder that only counts differs by about 1 %."""
HTTP_WARM_UP, HTTP_CALLS = 50, 1_000
TARGET_RATIO = 1.05


def families() -> Iterator[Family]:
    """By verb, policy and size."""
    for nodes in CALLS:
        for verb, profile in product(VERBS, POLICIES):
            yield Family(f"recording.{verb}.{profile}.{nodes}", partial(_measure, verb, profile, nodes))
        yield Family(f"recording.http.{nodes}", partial(_over_http, nodes))


class World(DecisionRecorder):
    """The verbs on so many nodes, with the recorder that is chosen for the next call."""

    def __init__(self, nodes: int, profile: str) -> None:
        self._recorder: DecisionRecorder = NO_RECORDS
        self.policy = POLICIES[profile]
        self.verbs = Verbs([], configuration=self.policy, recorder=self)
        self.verbs.cluster.publish("nodes", [cluster.node_manifest(index) for index in range(nodes)])

    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        self._recorder.record(verb, outcome, decision, milliseconds)

    def call(self, verb: str, body: str | bytes, recorder: DecisionRecorder) -> None:
        """One call that this recorder records."""
        self._recorder = recorder
        self.verbs.send(verb, body)


NO_RECORDS = RecorderByConfiguration({}, Decisions.OFF)


@dataclass(slots=True)
class Kind:
    """A recorder. drain: returns when all is written that was recorded. one_of: so many calls have one such.

    before: the recorder of the calls before a measured one.
    """

    name: str
    recorder: DecisionRecorder
    drain: Callable[[], object]
    one_of: int = 1
    before: DecisionRecorder = NO_RECORDS
    caller: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    processor: float = 0.0

    def play(self, world: World, verb: str, body: str | bytes) -> None:
        """One call, and what its record takes afterwards."""
        began, wall, caller = time.process_time(), time.perf_counter(), time.thread_time()
        world.call(verb, body, self.recorder)
        self.caller.append(time.thread_time() - caller)
        self.wall.append(time.perf_counter() - wall)
        self.drain()
        self.processor += time.process_time() - began

    def forget(self) -> None:
        """The calls before."""
        self.caller, self.wall, self.processor = [], [], 0.0

    def ratio(self, recorded: float, of_none: float) -> float:
        """What such calls add to the average of all calls, beside calls without records."""
        return 1 + (recorded / of_none - 1) / self.one_of

    def figures(self, name: str, none: Kind) -> Iterator[Figure]:
        """Milliseconds of such a call, and ratios to calls without records."""
        caller, wall = median(self.caller), median(self.wall)
        yield Figure(f"{name}.caller", caller * 1000, "ms")
        yield Figure(f"{name}.caller.ratio", self.ratio(caller, median(none.caller)), "x", TARGET_RATIO)
        yield Figure(f"{name}.wall", wall * 1000, "ms")
        yield Figure(f"{name}.wall.ratio", self.ratio(wall, median(none.wall)), "x", TARGET_RATIO)
        yield Figure(f"{name}.wall.p99", quantiles(self.wall, n=100)[98] * 1000, "ms")
        yield Figure(f"{name}.processor", self.processor / len(self.wall) * 1000, "ms")


def _measure(verb: str, profile: str, nodes: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as until_the_end:
        world = World(nodes, profile)
        kinds = [kind_of(name, world, Path(folder), until_the_end) for name in KINDS]
        names = cluster.requested_names(nodes)
        order = Random(7)
        bodies = cycle([body_of(cache_mode(each, cluster.plain_pod())) for each in names])
        for number in range(WARM_UP + CALLS[nodes]):
            body = next(bodies)
            for kind in order.sample(kinds, len(kinds)):
                if number == WARM_UP:
                    kind.forget()
                for _ in range(CALLS_BEFORE):
                    world.call(verb, body, kind.before)
                kind.play(world, verb, body)
        for kind in kinds:
            yield from kind.figures(f"recording.{verb}.{profile}.{nodes}.{kind.name}", kinds[0])


def _over_http(nodes: int) -> Iterator[Figure]:
    with Servers(nodes) as servers, tempfile.TemporaryDirectory() as folder:
        second = Path(folder) / "second.yaml"
        second.write_text("profile: full\n")
        options = {"none": [], "record": [f"--record={folder}/{nodes}.rec"], "shadow": [f"--shadow={second}"]}
        found = {name: servers.berth(*each) for name, each in options.items()}
        bodies = cycle(list(request_bodies(nodes)))
        for calls in (HTTP_WARM_UP, HTTP_CALLS):
            for server in found.values():
                server.begin()
            for body, _ in zip(bodies, range(calls), strict=False):
                for server in found.values():
                    server.call("filter", body)
        for name, server in found.items():
            seconds, of_none = sorted(server.seconds), sorted(found["none"].seconds)
            yield Figure(f"recording.http.{nodes}.filter.{name}", median(seconds) * 1000, "ms")
            yield Figure(f"recording.http.{nodes}.filter.{name}.ratio", median(seconds) / median(of_none), "x")
            yield Figure(f"recording.http.{nodes}.filter.{name}.p99", quantiles(seconds, n=100)[98] * 1000, "ms")


def kind_of(name: str, world: World, folder: Path, until_the_end: ExitStack) -> Kind:
    """One of KINDS."""
    match name:
        case "none":
            return Kind(name, NO_RECORDS, _nothing)
        case "memory":
            recent = RecentDecisions(time.time)
            return Kind(name, recent, _nothing, before=recent)
        case "log":
            counted = SampledLog(_nothing, time.time)
            return Kind(name, counted, _nothing, before=counted)
        case "log-line":
            return Kind(name, SampledLog(_nothing, time.time, one_of=1), _nothing, ONE_OF)
        case "table":
            table = _TableWrites(DynamoDBDecisionTable(_client(), "table").put)
            recorder = BackgroundRecorder(table.put, time.time, print, 10_000, RepeatableEncoder().encoded)
            until_the_end.callback(recorder.close)
            return Kind(name, recorder, table.wait)
        case "record":
            writer = RecordingWriter(folder / "recording", Header(time.time(), __version__))
            recording = DecisionRecording(writer, world.verbs.table, lambda _: world.policy, time.time, print)
            until_the_end.callback(recording.close)
            return Kind(name, recording, recording.wait_until_written)
    shadow = ShadowPolicy(BerthConfiguration(profile="full").policy(), _nothing)
    until_the_end.callback(shadow.close)
    return Kind(name, shadow, _nothing)


def _nothing(*_: object) -> None:
    return None


class _TableWrites:
    """What the recorder's thread writes to a table; a call waits for it, and a failed write fails the benchmark."""

    def __init__(self, put: Callable[[Mapping[str, object]], None]) -> None:
        self._put, self._results = put, SimpleQueue[Exception | None]()

    def put(self, document: Mapping[str, object]) -> None:
        """Write it; raises nothing: `wait` does."""
        try:
            self._put(document)
        except Exception as error:
            self._results.put(error)
        else:
            self._results.put(None)

    def wait(self) -> None:
        """Until the next write has ended; raises what it raised."""
        error = self._results.get()
        if error is not None:
            raise error


def _client() -> DynamoDBClient:
    """A client whose requests are signed, encoded and answered, and not sent."""
    # A session of its own: another benchmark may have put moto into boto3's default session.
    client: DynamoDBClient = boto3.Session().client(
        "dynamodb",
        region_name="eu-central-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
        config=Config(retries={"total_max_attempts": 1}),
    )
    client.meta.events.register("before-send.dynamodb", cast(Any, _answered))
    return client


def _answered(request: Any, **_: object) -> AWSResponse:
    headers: Any = {"content-type": "application/x-amz-json-1.0"}
    return AWSResponse(request.url, 200, headers, _Body(b"{}"))


class _Body(BytesIO):
    """As urllib3 has it."""

    def stream(self, **_: object) -> Iterator[bytes]:
        """In one piece."""
        yield self.read()
