"""Fields that a policy reads, but that are missing in states kept for another policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from berth.cluster.dump_cluster import ALL
from berth.cluster.field_projection import RequiredFields
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.sources.cached_objects import missing_fields

LABELLED: Mapping[str, Any] = {"profile": "label-priority"}
FULL: Mapping[str, Any] = {"profile": "full"}
GANGS: Mapping[str, Any] = {**LABELLED, "gangs": {"enabled": True}}


def counted(**source: str) -> Mapping[str, Any]:
    """Return a document that counts a resource with this source of its capacity."""
    resource = {"name": "example.com/licence", "ignoredByScheduler": True, "capacity": source}
    return {"profile": "managed-resources", "managedResources": [resource]}


def fields(document: Mapping[str, Any]) -> RequiredFields:
    return RequiredFields.of(BerthConfiguration.model_validate(document).policy())


def missing(new: Mapping[str, Any], kept: RequiredFields) -> list[str]:
    policy = BerthConfiguration.model_validate(new).policy()
    return [text.split(",")[0] for text in missing_fields(policy, kept)]


@pytest.mark.parametrize(
    ("recorded", "new", "lacks"),
    [
        pytest.param(FULL, FULL, [], id="the same policy"),
        pytest.param(FULL, LABELLED, [], id="a policy that reads less"),
        pytest.param(LABELLED, FULL, ["Services and controllers", "images"], id="kube-scheduler's own plugins"),
        pytest.param(LABELLED, GANGS, ["PodGroups"], id="gangs"),
        pytest.param(GANGS, GANGS, [], id="gangs in both"),
        pytest.param(LABELLED, counted(nodeLabel="licences"), [], id="labels are always there"),
        pytest.param(LABELLED, counted(nodeAnnotation="licences"), ["annotations of nodes"], id="capacity"),
        pytest.param(
            counted(nodeAnnotation="licences"), counted(nodeAnnotation="seats"), ["annotations of nodes"], id="another"
        ),
    ],
)
def test_names_fields_that_the_new_policy_reads_but_the_cache_did_not_keep(
    recorded: Mapping[str, Any], new: Mapping[str, Any], lacks: list[str]
) -> None:
    assert missing(new, fields(recorded)) == lacks


@pytest.mark.parametrize("new", [FULL, GANGS, counted(nodeAnnotation="licences")])
def test_fields_are_not_missing_if_the_whole_object_is_kept(new: Mapping[str, Any]) -> None:
    assert missing(new, ALL) == []


def test_names_the_missing_annotations() -> None:
    policy = BerthConfiguration.model_validate(counted(nodeAnnotation="acme.com/licences")).policy()
    assert list(missing_fields(policy, fields(LABELLED))) == [
        "annotations of nodes, by which resources are counted: acme.com/licences"
    ]
