"""Fixtures: one control plane per session, one scheduler per test, and the extender under test."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from .berth.extender import SERVE_AND_STACK, Extender, ExtenderCache
from .berth.identities import identities, serve
from .berth.recording_proxy import RecordingProxy
from .berth.stack import DeployedStack
from .gangs.members import Gangs
from .gangs.targets import Figures
from .kubernetes.cluster import Cluster, PriorityClasses
from .kubernetes.control_plane import BINARY, KUBERNETES, ControlPlane, RunScheduler
from .kubernetes.kubernetes_api import KubernetesApi
from .kubernetes.scheduler_configuration import ExtenderConfiguration, scheduler_configuration

StartExtender = Callable[[ControlPlane, Path], AbstractContextManager[Extender]]


def _serve(control_plane: ControlPlane, directory: Path) -> AbstractContextManager[Extender]:
    return serve(control_plane, directory)


def _stack(control_plane: ControlPlane, directory: Path) -> AbstractContextManager[Extender]:
    return DeployedStack(identities(control_plane), directory)


# The ways to serve Berth's verbs; each test that uses `extender` runs on all of them.
EXTENDERS: dict[str, StartExtender] = {"serve": _serve, "stack": _stack}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.e2e)


_FIGURES = pytest.StashKey[Figures]()


@pytest.fixture(scope="session")
def figures(pytestconfig: pytest.Config) -> Figures:
    return pytestconfig.stash.setdefault(_FIGURES, Figures())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash.get(_FIGURES, Figures()).lines():
        terminalreporter.write_line(line)


@pytest.fixture(scope="session", autouse=True)
def _require_binary() -> None:
    if not BINARY.exists():
        missing = f"{BINARY.name} is not built: run `make e2e KUBERNETES={KUBERNETES}`"
        pytest.exit(missing, returncode=pytest.ExitCode.USAGE_ERROR)


@pytest.fixture(scope="session", autouse=True)
def _cleanup_on_sigterm() -> Iterator[None]:
    """Run the fixtures' cleanup on SIGTERM, which by default would leave child processes running."""
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    yield
    signal.signal(signal.SIGTERM, previous)


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("control-plane")) as control_plane:
        yield control_plane


@pytest.fixture(scope="session", params=SERVE_AND_STACK)
def extender(
    request: pytest.FixtureRequest, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Extender]:
    start = EXTENDERS[request.param]
    with start(control_plane, tmp_path_factory.mktemp(request.param)) as extender:
        yield extender


@pytest.fixture
def cache(extender: Extender) -> ExtenderCache:
    return ExtenderCache(extender)


@pytest.fixture
def proxy(extender: Extender) -> Iterator[RecordingProxy]:
    """Yield a proxy in front of `extender`; the scheduler calls the proxy's urlPrefix."""
    with RecordingProxy(extender.url_prefix) as proxy:
        yield proxy


@pytest.fixture
def cluster(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    suffix = f"{request.session.items.index(request.node):03}"
    cluster = Cluster(KubernetesApi(control_plane.credentials()), suffix)
    yield cluster
    cluster.clear()


@pytest.fixture
def classes(cluster: Cluster) -> PriorityClasses:
    values = {"low": 100, "middle": 200, "high": 1000}
    return PriorityClasses(**{name: cluster.create_priority_class(name, value) for name, value in values.items()})


@pytest.fixture
def api(control_plane: ControlPlane) -> KubernetesApi:
    return KubernetesApi(control_plane.credentials())


@pytest.fixture
def gangs(cluster: Cluster, api: KubernetesApi) -> Gangs:
    return Gangs(cluster, api)


@pytest.fixture
def run_scheduler(control_plane: ControlPlane, cluster: Cluster) -> Iterator[RunScheduler]:
    """Yield a function that runs kube-scheduler with the given extenders until its next call or the end of the test."""
    with ExitStack() as running:

        def run(*extenders: ExtenderConfiguration) -> None:
            running.close()
            running.enter_context(control_plane.scheduler(scheduler_configuration(extenders)))

        yield run
