"""The data of an environment's first call is loaded in advance if Lambda starts the environment before the call."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from functools import partial
from threading import Event
from types import FunctionType, ModuleType

import pytest

from berth.extender.deadline import Deadline
from berth.extender.filter import answer_filter, failed
from berth.runtime.http import first_call
from berth.runtime.http.endpoint import EndpointSettings, VerbEndpoint
from berth.runtime.http.first_call import load_before_first_call

Hooks = list[Callable[[], object]]


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> Hooks:
    """Return the hooks that the runtime calls after a restore. Only Lambda's runtime contains the library."""
    found: Hooks = []
    library = ModuleType("snapshot_restore_py")
    library.register_after_restore = lambda hook, *args: found.append(partial(hook, *args))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "snapshot_restore_py", library)
    return found


def started_as(initialization_type: str, http_timeout: str = "5") -> EndpointSettings:
    variables = {"AWS_LAMBDA_INITIALIZATION_TYPE": initialization_type, "BERTH_HTTP_TIMEOUT": http_timeout}
    return EndpointSettings.from_environ(variables)


@pytest.mark.parametrize(
    ("initialization_type", "at_import", "after_restore"),
    [
        pytest.param("provisioned-concurrency", 1, 0),
        pytest.param("snap-start", 0, 1),
        pytest.param("on-demand", 0, 0),
        pytest.param("", 0, 0, id="outside Lambda"),
    ],
)
def test_verb_loads_the_data_at_import_or_after_restore(
    initialization_type: str, at_import: int, after_restore: int, hooks: Hooks
) -> None:
    loaded: list[float] = []

    def catch_up() -> int:
        loaded.append(time.monotonic())
        return 1

    VerbEndpoint("filter", started_as(initialization_type), answer_filter, failed, catch_up)  # type: ignore[arg-type]
    assert (len(loaded), len(hooks)) == (at_import, after_restore)
    for _ in range(2):
        for hook in hooks:
            hook()
    assert len(loaded) == at_import + 2 * after_restore


@pytest.mark.parametrize("initialization_type", ["provisioned-concurrency", "snap-start"])
def test_function_starts_even_if_preparing_the_first_call_fails(
    initialization_type: str, hooks: Hooks, caplog: pytest.LogCaptureFixture
) -> None:
    def load() -> None:
        raise OSError("no route")

    load_before_first_call(load, started_as(initialization_type))
    for hook in hooks:
        hook()
    assert caplog.record_tuples == [("berth", logging.WARNING, "the first call was not prepared: OSError: no route")]


@pytest.mark.parametrize(
    ("initialization_type", "http_timeout", "waited"),
    [
        pytest.param("provisioned-concurrency", "5", 7, id="provisioned"),
        pytest.param("snap-start", "5", 2.5, id="half of the scheduler's time after a restore"),
        pytest.param("snap-start", "30", 7, id="less than the hook's limit of 10 s"),
    ],
)
def test_start_waits_only_for_a_limited_time_if_preparing_the_first_call_hangs(
    initialization_type: str,
    http_timeout: str,
    waited: float,
    hooks: Hooks,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    released = Event()
    monkeypatch.setattr(first_call, "Deadline", lambda seconds, clock: Deadline(seconds / 1000, clock))
    load_before_first_call(released.wait, started_as(initialization_type, http_timeout))
    for hook in hooks:
        hook()
    released.set()
    assert caplog.messages == [f"the first call was not prepared within {waited:g} s, and loads what is missing"]


@pytest.mark.parametrize("initialization_type", ["provisioned-concurrency", "snap-start"])
def test_filter_has_a_snapshot_before_its_first_call(
    load_function: Callable[..., FunctionType], initialization_type: str, hooks: Hooks
) -> None:
    # A document of its own, because functions of one process with the same document share their snapshot.
    own = {"BERTH_CONFIGURATION": f'{{"nodeCache": {{"maxStaleness": {86300 + len(initialization_type)}}}}}'}
    handler = load_function("filter", {**own, "AWS_LAMBDA_INITIALIZATION_TYPE": initialization_type})
    for hook in hooks:
        hook()
    assert handler.__globals__["cache"].reader.version > 0
