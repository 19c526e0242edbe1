"""Every way to interrupt a bind, combined with everything that others may do at any of its calls.

A case is the state that an earlier attempt left behind, a fault at one call, an event just before one call, the
steps afterwards, and the time when a late call arrives. Then the watcher works, and the ledgers must be consistent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle, product

from berth.scheduling.managed_resources.pools import annotation_of

from .binds import GPU_MEMORY, LICENCE, BindWorld, Fault, Wire

POD, UID, NODE, ELSEWHERE = "train-0", "uid-1", "n1", "n2"

ASKED: Mapping[str, Mapping[str, str]] = {
    "without devices": {LICENCE: "2"},
    "with devices": {GPU_MEMORY: "5000", LICENCE: "1"},
}

BINDING = "Binding"
DEVICE = annotation_of(GPU_MEMORY)


def _again(world: BindWorld) -> None:
    world.bind(POD, UID, NODE)


def _again_elsewhere(world: BindWorld) -> None:
    world.bind(POD, UID, ELSEWHERE)


def _deleted(world: BindWorld) -> None:
    world.pods.delete(POD)
    # A separate event of the watcher publishes the pod's end.


def _recreated(world: BindWorld) -> None:
    world.pods.add(POD, "uid-2", {LICENCE: "1"})


def _being_deleted(world: BindWorld) -> None:
    world.pods.change(POD, deleting=True)


def _exhausted(world: BindWorld) -> None:
    for number in range(4):
        world.pods.add(f"other-{number}", f"uid-other-{number}", {LICENCE: "1", GPU_MEMORY: "4000"})
        world.bind(f"other-{number}", f"uid-other-{number}", NODE)


def _expired(world: BindWorld) -> None:
    world.expire(least_age=0.0)


def _published(world: BindWorld) -> None:
    world.publish()


def _changed(world: BindWorld) -> None:
    found = world.pods.stored(POD)
    if found is not None:
        world.pods.change(POD, annotations={**found.annotations, "example.com/note": "other"})


def _asks_more(world: BindWorld) -> None:
    # The requests of a pod on a node never change.
    found = world.pods.stored(POD)
    if found is not None and not found.node:
        world.pods.change(POD, requests={LICENCE: "3", GPU_MEMORY: "6000"})


def _asks_less(world: BindWorld) -> None:
    found = world.pods.stored(POD)
    if found is not None and not found.node:
        world.pods.change(POD, requests={LICENCE: "1", GPU_MEMORY: "3000"})


def _forbidden(world: BindWorld) -> None:
    world.pods.refuse_bindings = 1


def _forbidden_to_another(world: BindWorld) -> None:
    world.pods.refuse_bindings = 1
    world.bind(POD, UID, NODE)


def _handed_over(world: BindWorld) -> None:
    world.hand_over()


def _names_another_device(world: BindWorld) -> None:
    """Let the owner name another device, and a watcher that has not seen the pod before take over."""
    found = world.pods.stored(POD)
    if found is not None:
        other = "0" if found.annotations.get(DEVICE) == "1" else "1"
        world.pods.change(POD, annotations={**found.annotations, DEVICE: other})
    world.hand_over()


def _too_large(world: BindWorld) -> None:
    """Let the owner make the pod too large for the cache, and a watcher that does not find the pod there take over."""
    world.too_large.add(UID)
    world.hand_over()


Event = Callable[[BindWorld], None]

EVENTS: Mapping[str, Event | None] = {
    "nothing": None,
    "another scheduler binds it there": _again,
    "another scheduler binds it elsewhere": _again_elsewhere,
    "it is deleted": _deleted,
    "it is recreated with another UID": _recreated,
    "it is being deleted": _being_deleted,
    "others take all that is left": _exhausted,
    "the watcher expires": _expired,
    "the watcher publishes": _published,
    "another watcher takes over": _handed_over,
    "its owner names another device, and another watcher takes over": _names_another_device,
    "it is too large for the cache, and another watcher takes over": _too_large,
    "it is changed": _changed,
    "it asks for more": _asks_more,
    "it asks for less": _asks_less,
    "the next Binding is forbidden": _forbidden,
    "another scheduler's Binding of it is forbidden": _forbidden_to_another,
}


@dataclass(frozen=True, slots=True)
class Prior:
    """An earlier attempt with a fault at its Binding. None: no attempt. A late Binding arrives with the late calls."""

    name: str
    fault: Fault | None


PRIORS = (
    Prior("no attempt before", None),
    Prior("one that died before its Binding", Fault.DIES_BEFORE),
    Prior("one whose Binding is on its way", Fault.LATE),
)

AFTERWARDS: Mapping[str, tuple[Event, ...]] = {
    "no retry": (),
    "it is asked again": (_again,),
    "it expires, then it is asked again": (_expired, _again),
    "it is asked again elsewhere": (_again_elsewhere,),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A case; fault_at and event_at: the numbers of calls. arrives: the number of steps afterwards before late calls
    arrive."""

    asked: str
    prior: Prior
    fault: Fault | None
    fault_at: int
    event: str
    event_at: int
    afterwards: str
    arrives: int

    def run(self) -> list[str]:
        """Run the case and return the calls that were made. Raises AssertionError if an invariant is broken."""
        world = BindWorld()
        world.pods.add(POD, UID, ASKED[self.asked])
        prior, event = Wire(), EVENTS[self.event]
        if self.prior.fault is not None:
            binding_at = 4 if self.asked == "with devices" else 3
            prior = Wire({binding_at: self.prior.fault, **dict.fromkeys(range(binding_at + 1, 99), Fault.DIES_BEFORE)})
            world.bind(POD, UID, NODE, prior)
            assert prior.calls[binding_at] == BINDING
        wire = Wire(
            {} if self.fault is None else {self.fault_at: self.fault},
            {} if event is None else {self.event_at: lambda: event(world)},
        )
        world.bind(POD, UID, NODE, wire)
        for step, then in enumerate((*AFTERWARDS[self.afterwards], BindWorld.recover)):
            if step == self.arrives:
                prior.deliver()
                wire.deliver()
            then(world)
        prior.deliver()
        wire.deliver()
        world.recover()
        world.assert_consistent()
        world.hand_over()
        world.assert_consistent()
        world.pods.delete(POD)
        world.recover()
        world.assert_consistent()
        return wire.calls


def calls_of(asked: str, prior: Prior, event: str = "nothing", event_at: int = 0) -> int:
    """Return the number of calls that the bind of such a case makes without a fault."""
    return len(Case(asked, prior, None, 0, event, event_at, "no retry", 0).run())


def cases() -> Iterator[Case]:
    """Yield every fault at every call, with every event at every call; the steps afterwards alternate."""
    turns = cycle(product(AFTERWARDS, (0, 1, 2)))
    for asked, prior, event in product(ASKED, PRIORS, EVENTS):
        for event_at in range(calls_of(asked, prior) + 1 if EVENTS[event] else 1):
            made = calls_of(asked, prior, event, event_at)
            # A fault adds calls: bind reads again.
            faults = [(None, 0), *product(Fault, range(made + 4))]
            for fault, fault_at in faults:
                yield Case(asked, prior, fault, fault_at, event, event_at, *next(turns))
