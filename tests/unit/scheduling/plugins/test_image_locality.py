"""ImageLocality: nodes that have the pod's images."""

from __future__ import annotations

from typing import Any

import pytest

from berth.scheduling.plugins.arguments import NoArgs
from berth.scheduling.plugins.image_locality import ImageLocality
from tests.builders.nodes import node_with
from tests.builders.pods import container, pod_with
from tests.unit.scheduling.plugins.asking import scores

MEBIBYTE = 1024 * 1024

Images = dict[str, int]


def node(name: str, images: Images) -> dict[str, object]:
    """Return a node with images of these sizes in MiB."""
    listed = [{"names": [image], "sizeBytes": size * MEBIBYTE} for image, size in images.items()]
    return node_with(name, status={"images": listed})


def running(*images: str, init: tuple[str, ...] = (), volumes: tuple[str, ...] = ()) -> dict[str, Any]:
    return pod_with(
        containers=[container(f"c{index}") | {"image": image} for index, image in enumerate(images)],
        initContainers=[container(f"i{index}") | {"image": image} for index, image in enumerate(init)],
        volumes=[{"name": f"v{index}", "image": {"reference": image}} for index, image in enumerate(volumes)],
    )


def score(pod: dict[str, Any], *images_of_nodes: Images) -> int:
    """Return the score of the first node."""
    nodes = [node(f"n{index}", images) for index, images in enumerate(images_of_nodes)]
    return scores(ImageLocality(NoArgs()), pod, *nodes)["n0"]


@pytest.mark.parametrize(
    ("pod", "images", "wanted"),
    [
        pytest.param(running("a:1"), [{}, {}], 0, id="no node has the image"),
        pytest.param(running("a:1"), [{"a:1": 1000}, {"a:1": 1000}], 100, id="all nodes have a large image"),
        pytest.param(running("a:1"), [{"a:1": 2500}, {"a:1": 2500}], 100, id="more than 1000 MiB count as 1000"),
        pytest.param(running("a:1"), [{"a:1": 23}, {"a:1": 23}], 0, id="23 MiB and less count as nothing"),
        pytest.param(running("a:1"), [{"a:1": 511}, {"a:1": 511}], 49, id="in between, in proportion"),
        pytest.param(running("a:1"), [{"a:1": 1022}, {}], 49, id="on half of the nodes it counts by half"),
        pytest.param(running("a:1"), [{}, {"a:1": 1000}], 0, id="an image on another node does not count"),
        pytest.param(running("a:1", "b:1"), [{"a:1": 1000}, {"a:1": 1000}], 49, id="one of two containers' images"),
        pytest.param(running("a:1", "a:1"), [{"a:1": 1000}, {"a:1": 1000}], 100, id="image counts for each container"),
        pytest.param(running("a:1", init=("b:1",)), [{"b:1": 1000}, {"b:1": 1000}], 49, id="init containers count"),
        pytest.param(running("a:1", volumes=("b:1",)), [{"b:1": 500}, {"b:1": 500}], 48, id="image volume, uncounted"),
    ],
)
def test_score_grows_with_the_size_of_present_images(pod: dict[str, Any], images: list[Images], wanted: int) -> None:
    assert score(pod, *images) == wanted


@pytest.mark.parametrize(
    ("image", "listed", "found"),
    [
        pytest.param("nginx", "nginx:latest", True, id="a missing tag means latest"),
        pytest.param("nginx", "nginx", False, id="a name without tag is never looked up"),
        pytest.param("nginx", "docker.io/library/nginx:latest", False, id="names are compared as they stand"),
        pytest.param("host:5000/app", "host:5000/app:latest", True, id="a port is no tag"),
        pytest.param("host:5000/app:v1", "host:5000/app:v1", True, id="a tag after a port"),
        pytest.param("app@sha256:00", "app@sha256:00", True, id="a digest needs no tag"),
    ],
)
def test_compares_image_names_with_default_tag(image: str, listed: str, *, found: bool) -> None:
    assert score(running(image), {listed: 1000}, {listed: 1000}) == (100 if found else 0)
