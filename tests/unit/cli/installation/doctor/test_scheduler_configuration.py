"""The scheduler's configuration: where it is found, what kube-scheduler rejects, and which extenders are Berth."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml

from berth_cli.installation.doctor.scheduler_configuration import (
    InvalidSchedulerConfiguration,
    from_cluster,
    from_file,
    parse_scheduler_configuration,
)
from tests.fakes.doctor import ADDRESS, FakeAccess
from tests.unit.cli.installation.doctor.scheduler_documents import document, side

TEXT = yaml.safe_dump(document())
ENCODED = b64encode(TEXT.encode()).decode()


@pytest.mark.parametrize(
    "documents",
    [
        pytest.param([document()], id="only document"),
        pytest.param([{"kind": "ConfigMap", "data": {"config.yaml": TEXT, "ca.crt": "x"}}], id="in a ConfigMap"),
        pytest.param([{"kind": "Secret", "stringData": {"config.yaml": TEXT}}], id="in a Secret with stringData"),
        pytest.param([{"kind": "Secret", "data": {"config.yaml": ENCODED}}], id="in a Secret with data"),
        pytest.param([{"kind": "Role"}, None, {"kind": "ConfigMap", "data": {"c": TEXT}}], id="among manifests"),
        pytest.param([{"kind": "List", "items": [{"kind": "ConfigMap", "data": {"c": TEXT}}]}], id="in a List"),
    ],
)
def test_finds_configuration_in_file(documents: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(yaml.safe_dump_all(documents))
    assert from_file(path).extenders[0].url_prefix == ADDRESS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("kind: Pod", "has 0 documents", id="none"),
        pytest.param(f"{TEXT}---\n{TEXT}", "has 2 documents", id="two"),
    ],
)
def test_rejects_zero_or_several_configurations(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(text)
    with pytest.raises(InvalidSchedulerConfiguration, match=message):
        from_file(path)


def test_reads_configmap_or_secret() -> None:
    access = FakeAccess(documents={("kube-system", "berth-scheduler"): {"config.yaml": TEXT}})
    assert from_cluster(access, "kube-system", "berth-scheduler").extenders[0].url_prefix == ADDRESS
    with pytest.raises(InvalidSchedulerConfiguration, match="kube-system/other has 0 documents"):
        from_cluster(access, "kube-system", "other")
    with pytest.raises(InvalidSchedulerConfiguration, match="cannot be read: refused"):
        from_cluster(FakeAccess(unreachable="refused"), "kube-system", "x")


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        pytest.param({"extenders": [{"urlPrefix": "x", "nodeCacheCapabel": True}]}, "nodeCacheCapabel", id="a typo"),
        pytest.param({"extenders": [{"urlPrefix": "x", "httpTimeout": 5}]}, "httpTimeout", id="number for a duration"),
        pytest.param({"extenders": [{"urlPrefix": "x", "weight": "1"}]}, "weight", id="a string instead of a number"),
        pytest.param({"extenders": [{"filterVerb": "filter"}]}, "urlPrefix", id="no address"),
        pytest.param({"apiVersion": "kubescheduler.config.k8s.io/v1beta3"}, "apiVersion", id="an old version"),
    ],
)
def test_rejects_every_document_that_kube_scheduler_rejects(changed: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidSchedulerConfiguration, match=field):
        parse_scheduler_configuration(document() | changed)


@pytest.mark.parametrize(
    ("extenders_", "address", "ours"),
    [
        pytest.param(["https://berth.example.com/sched"], ADDRESS, 1, id="ignores path"),
        pytest.param(["https://u:p@berth.example.com/scheduler"], ADDRESS, 1, id="ignores credentials"),
        pytest.param(["https://berth.example.com:443/scheduler"], ADDRESS, 1, id="the scheme's own port"),
        pytest.param(["http://berth.example.com/scheduler"], ADDRESS, 0, id="other port"),
        pytest.param(["https://other/x", ADDRESS], "", 1, id="by path without address"),
        pytest.param(["https://only/x"], "", 1, id="the only extender"),
        pytest.param(["https://a/x", "https://b/x"], "", 0, id="several unknown extenders"),
    ],
)
def test_finds_the_extenders_of_berth(extenders_: list[str], address: str, ours: int) -> None:
    found = document() | {"extenders": [{"urlPrefix": url} for url in extenders_]}
    assert len(side(found, address).berth_extenders) == ours
