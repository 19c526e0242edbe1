"""PodGroups that cannot be read."""

from __future__ import annotations

import pytest

from berth.scheduling.objects import UnreadableObject
from berth.scheduling.objects.pod_group import PodGroup, PodGroupApi, read_pod_group


@pytest.mark.parametrize("api", list(PodGroupApi))
@pytest.mark.parametrize("obj", [[], {"metadata": "train"}], ids=["not an object", "metadata is not an object"])
def test_pod_group_without_a_name_is_unreadable(obj: object, api: PodGroupApi) -> None:
    assert isinstance(read_pod_group(obj, api), UnreadableObject)


@pytest.mark.parametrize("api", list(PodGroupApi))
def test_pod_group_with_an_invalid_spec_has_a_defect(api: PodGroupApi) -> None:
    found = read_pod_group({"metadata": {"name": "train", "namespace": "ml"}, "spec": []}, api)
    assert isinstance(found, PodGroup)
    assert (found.name, found.defect) == ("train", "PodGroup.spec is not an object")
