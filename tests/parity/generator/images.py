"""Images on nodes and in pods, under all the names that they may have."""

from __future__ import annotations

from typing import Any

from tests.parity.generator.draw import Draw
from tests.parity.generator.quantities import MI

IN_PODS = (
    "nginx",
    "nginx:1.27",
    "registry.example.com:5000/team/app",
    "registry.example.com:5000/team/app:v2",
    "docker.io/library/redis@sha256:0000000000000000000000000000000000000000000000000000000000000001",
)
ON_NODES: dict[str, list[str]] = {
    "nginx": ["nginx:latest"],
    "nginx:1.27": ["nginx:1.27", "docker.io/library/nginx:1.27"],
    "app": ["registry.example.com:5000/team/app:latest"],
    "app:v2": ["registry.example.com:5000/team/app:v2"],
    "redis": [IN_PODS[4], "docker.io/library/redis:7"],
    "untagged": ["nginx"],  # never found: an image without a tag gets the default tag before the lookup
}
SIZES = (MI, 23 * MI, 24 * MI, 150 * MI, 700 * MI, 1000 * MI, 2500 * MI)


def node_images(draw: Draw, sizes: dict[str, int]) -> list[dict[str, Any]]:
    present = draw.some_of(list(ON_NODES), 0, len(ON_NODES))
    return [{"names": ON_NODES[image], "sizeBytes": sizes[image]} for image in present]


def image_sizes(draw: Draw) -> dict[str, int]:
    """Draw the size of each image, which is the same on every node."""
    return {image: draw.one_of(SIZES) for image in ON_NODES}
