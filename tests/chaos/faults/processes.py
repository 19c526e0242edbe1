"""Processes that end or freeze, and clocks that are wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from signal import SIGCONT, SIGKILL, SIGSTOP, Signals

from tests.chaos.set_up import SetUp


def killed(*berths: int) -> Callable[[SetUp], AbstractContextManager[None]]:
    """Kill the Berth processes with these numbers (0 and 1) with SIGKILL, and then start them again."""

    @contextmanager
    def does(set_up: SetUp) -> Iterator[None]:
        chosen = [set_up.berths[each] for each in berths]
        for berth in chosen:
            berth.stop(SIGKILL)
        yield
        for berth in chosen:
            berth.start()
        for berth in chosen:
            berth.wait_until_ready()

    return does


def frozen(*berths: int) -> Callable[[SetUp], AbstractContextManager[None]]:
    """Freeze the Berth processes with these numbers (0 and 1), and then let them continue."""

    @contextmanager
    def does(set_up: SetUp) -> Iterator[None]:
        with ExitStack() as frozen_ones:
            for each in berths:
                frozen_ones.enter_context(standing_still(set_up.berths[each].send))
            yield

    return does


@contextmanager
def scheduler_killed(set_up: SetUp) -> Iterator[None]:
    scheduler = set_up.schedulers[0]
    scheduler.send(SIGKILL)
    yield
    scheduler.stop()
    scheduler.start()


def scheduler_frozen(set_up: SetUp) -> AbstractContextManager[None]:
    return standing_still(set_up.schedulers[0].send)


@contextmanager
def all_killed(set_up: SetUp) -> Iterator[None]:
    for scheduler in set_up.schedulers:
        scheduler.send(SIGKILL)
    with killed(0, 1)(set_up):
        yield
    for scheduler in set_up.schedulers:
        scheduler.stop()
        scheduler.start()


def server_frozen(process: str) -> Callable[[SetUp], AbstractContextManager[None]]:
    """Pause a process of the control plane; meanwhile, it neither refuses connections nor responds."""
    return lambda set_up: standing_still(lambda what: set_up.control_plane.send(process, what))


def server_killed(process: str) -> Callable[[SetUp], AbstractContextManager[None]]:
    """Kill a process of the control plane with SIGKILL, and start it again with its data."""

    @contextmanager
    def does(set_up: SetUp) -> Iterator[None]:
        set_up.control_plane.kill(process)
        yield
        set_up.control_plane.start_again(process)

    return does


def tables_frozen(set_up: SetUp) -> AbstractContextManager[None]:
    return standing_still(set_up.emulator.send)


@contextmanager
def standing_still(send: Callable[[Signals], None]) -> Iterator[None]:
    send(SIGSTOP)
    try:
        yield
    finally:
        send(SIGCONT)


def clock(seconds: float) -> Callable[[SetUp], AbstractContextManager[None]]:
    """Set the wall clock of the first Berth process ahead by this time, and then right again."""

    @contextmanager
    def does(set_up: SetUp) -> Iterator[None]:
        set_up.berths[0].jump(seconds)
        yield
        set_up.berths[0].jump(0)

    return does
