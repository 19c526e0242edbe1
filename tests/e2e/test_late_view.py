"""A cache that lags behind the scheduler causes a delay, but no eviction (docs/concepts/late-view.md).

Each round changes the cluster and sends requests at once, before the change can be in the cache.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .berth.extender import Extender, ExtenderCache
from .berth.identities import EXAMPLES, identities
from .berth.identities import serve as serve_berth
from .berth.stack import DeployedStack
from .kubernetes.cluster import Cluster, PriorityClasses
from .kubernetes.control_plane import ControlPlane
from .kubernetes.scheduler_configuration import filter_prioritize_bind, scheduler_configuration

ROUNDS = int(os.environ.get("LATE_VIEW_ROUNDS", "3"))
"""Number of rounds: REPEAT of `make e2e`."""

PLACED_SECONDS, ON_STACK_SECONDS = 5.0, 10.0
LATER_PODS = 20
PLUGINS = EXAMPLES / "custom-plugin"

FULL, TEAMS, SEGREGATION = "full", "teams", "segregation"
DOCUMENT = """\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: full
profiles: {full: full, teams: teams, segregation: resource-segregation}
definitions:
  teams:
    plugins:
      enabled: [{name: "berth_plugins.one_per_team:OnePerTeam"}]
pluginConfig:
  - name: ResourceSegregation
    args: {resources: [nvidia.com/gpu], mode: required}
"""


@pytest.fixture(scope="module", params=["serve", pytest.param("stack", marks=pytest.mark.stack)])
def berth(
    request: pytest.FixtureRequest, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Extender]:
    directory: Path = tmp_path_factory.mktemp(f"late-view-{request.param}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(PLUGINS))
        if request.param == "serve":
            with serve_berth(control_plane, directory, document=DOCUMENT) as server:
                yield server
        else:
            with DeployedStack(identities(control_plane), directory, plugins=PLUGINS) as stack:
                stack.apply(DOCUMENT)
                yield stack


@pytest.fixture(scope="module")
def scheduler(control_plane: ControlPlane, berth: Extender) -> Iterator[None]:
    """Run a scheduler for the schedulerNames of Berth's profiles."""
    document = scheduler_configuration([filter_prioritize_bind(berth.url_prefix)])
    profiles = [{"schedulerName": name} for name in ("default-scheduler", FULL, TEAMS, SEGREGATION)]
    with control_plane.scheduler({**document, "profiles": profiles}):
        yield


@pytest.mark.core
@pytest.mark.parametrize("number", range(ROUNDS))
@pytest.mark.parametrize(
    ("profile", "team"),
    [
        pytest.param(FULL, {}, id="the scheduler's own rules"),
        pytest.param(TEAMS, {"team": "a"}, id="a rule that only Berth has"),
    ],
)
@pytest.mark.usefixtures("scheduler")
def test_preemptor_evicts_the_victims_of_one_node_only_once(
    profile: str, team: dict[str, str], number: int, cluster: Cluster, classes: PriorityClasses, berth: Extender
) -> None:
    """Twenty pods of lower priority compete for the room at once. The scheduler alone evicts one pod."""
    node = cluster.create_node("node", cpu="5")
    running = [
        cluster.create_pod(
            f"running-{number}",
            priority_class=classes.low,
            node=node,
            ends_at_once=True,
            scheduler=profile,
            labels=team if number == 0 else {},
        )
        for number in range(2)
    ]
    ExtenderCache(berth).wait_for_feasible([node])
    started = time.monotonic()
    preemptor = cluster.create_pod("high", priority_class=classes.high, cpu="4900m", scheduler=profile, labels=team)
    later = [
        cluster.create_pod(f"later-{number}", priority_class=classes.low, scheduler=profile, ends_at_once=True)
        for number in range(LATER_PODS)
    ]

    assert cluster.wait_until_assigned(preemptor) == node
    assert time.monotonic() - started <= (ON_STACK_SECONDS if isinstance(berth, DeployedStack) else PLACED_SECONDS)
    # Beside the preemptor there is room for one of the running pods. The rule rejects the pod of its team.
    left = [each for each in running if cluster.exists(each)]
    assert len(left) <= 1
    assert all(cluster.exists(each) for each in later)
    if team:
        assert running[0] not in left


@pytest.mark.core
@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.3, 0.6])
@pytest.mark.usefixtures("scheduler")
def test_pod_goes_to_a_new_node_instead_of_evicting_another_pod(
    seconds: float, cluster: Cluster, classes: PriorityClasses, berth: Extender
) -> None:
    """The profile reads only nodes, so it sees the new node as early as any profile can."""
    full = cluster.create_node("full", cpu="1")
    running = cluster.create_pod("running", cpu="1", priority_class=classes.low, node=full, ends_at_once=True)
    ExtenderCache(berth).wait_for_feasible([full])
    time.sleep(1)  # the next change is the first after a pause

    joined = cluster.create_node("joined", cpu="1")
    time.sleep(seconds)
    pod = cluster.create_pod("high", cpu="1", priority_class=classes.high, scheduler=SEGREGATION)

    assert cluster.wait_until_assigned(pod) == joined
    assert cluster.exists(running)
    assert not cluster.state(running).terminating
