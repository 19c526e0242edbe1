"""Validation of a KubeSchedulerConfiguration as in kube-scheduler."""

from __future__ import annotations

from typing import Any

import pytest

from berth_cli.doctor.scheduler import configuration as scheduler_document
from tests.unit.cli.doctor.scheduler_documents import document


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        pytest.param({"extenders": [{"urlPrefix": "x", "nodeCacheCapabel": True}]}, "nodeCacheCapabel", id="a typo"),
        pytest.param(
            {"extenders": [{"urlPrefix": "x", "httpTimeout": 5}]}, "httpTimeout", id="a number for a duration"
        ),
        pytest.param({"extenders": [{"urlPrefix": "x", "weight": "1"}]}, "weight", id="a text for a number"),
        pytest.param({"extenders": [{"filterVerb": "filter"}]}, "urlPrefix", id="no address"),
        pytest.param({"apiVersion": "kubescheduler.config.k8s.io/v1beta3"}, "apiVersion", id="an old version"),
    ],
)
def test_rejects_what_kube_scheduler_rejects(changed: dict[str, Any], field: str) -> None:
    with pytest.raises(scheduler_document.InvalidSchedulerConfiguration, match=field):
        scheduler_document.parse_scheduler_configuration(document() | changed)
