"""Finding the scheduler's configuration in files and in the cluster."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml

from berth_cli.doctor.access.configuration_source import ConfigurationNotFound, flags_in, from_cluster, from_file
from berth_cli.doctor.scheduler.configuration import InvalidSchedulerConfiguration
from tests.conftest import PROJECT
from tests.fakes.doctor import ADDRESS, FakeAccess
from tests.unit.cli.doctor.scheduler_documents import document

TEXT = yaml.safe_dump(document())
ENCODED = b64encode(TEXT.encode()).decode()


@pytest.mark.parametrize(
    "documents",
    [
        pytest.param([document()], id="alone"),
        pytest.param([{"kind": "ConfigMap", "data": {"config.yaml": TEXT, "ca.crt": "x"}}], id="in a ConfigMap"),
        pytest.param([{"kind": "Secret", "stringData": {"config.yaml": TEXT}}], id="in a Secret that is to be applied"),
        pytest.param([{"kind": "Secret", "data": {"config.yaml": ENCODED}}], id="in a Secret as it is"),
        pytest.param([{"kind": "Role"}, None, {"kind": "ConfigMap", "data": {"c": TEXT}}], id="among manifests"),
        pytest.param([{"kind": "List", "items": [{"kind": "ConfigMap", "data": {"c": TEXT}}]}], id="in a List"),
    ],
)
def test_finds_configuration_in_file(documents: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(yaml.safe_dump_all(documents))
    assert from_file(path).extenders[0].url_prefix == ADDRESS


def with_containers(kind: str, *containers: dict[str, Any]) -> dict[str, Any]:
    spec = {"containers": list(containers)}
    return {"kind": kind, "spec": spec if kind == "Pod" else {"template": {"spec": spec}}}


SCHEDULER = {"command": ["/usr/local/bin/kube-scheduler", "--config=c"], "args": ["--feature-gates=A=false"]}


@pytest.mark.parametrize(
    ("documents", "flags"),
    [
        pytest.param([document()], None, id="the configuration alone"),
        pytest.param(
            [document(), with_containers("Deployment", {"command": ["proxy"]}, SCHEDULER)],
            ("--config=c", "--feature-gates=A=false"),
            id="a Deployment",
        ),
        pytest.param([with_containers("Pod", SCHEDULER)], ("--config=c", "--feature-gates=A=false"), id="a static pod"),
        pytest.param([with_containers("Deployment", {"command": ["/bin/other"]})], None, id="of another program"),
        pytest.param([with_containers("Pod", {"command": ["kube-scheduler"]})], (), id="without flags"),
        pytest.param([None, {"spec": {"template": []}}, {"spec": {"containers": [7]}}], None, id="what is none"),
    ],
)
def test_finds_flags_of_kube_scheduler_in_manifests(
    documents: list[Any], flags: tuple[str, ...] | None, tmp_path: Path
) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(yaml.safe_dump_all(documents))
    assert flags_in(path) == flags


@pytest.mark.parametrize("file", ["configuration.yaml", "second-scheduler.yaml"])
def test_reads_example_files(file: str) -> None:
    assert len(from_file(PROJECT / "examples" / "scheduler" / file).extenders) == 1


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
    with pytest.raises(ConfigurationNotFound, match=message):
        from_file(path)


def test_yaml_error_does_not_quote_content(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text("urlPrefix: 'https://me:hidden@berth\n")
    with pytest.raises(InvalidSchedulerConfiguration) as caught:
        from_file(path)
    assert "hidden" not in str(caught.value)


def test_reads_configmap_or_secret() -> None:
    access = FakeAccess(documents={("kube-system", "berth-scheduler"): {"config.yaml": TEXT}})
    assert from_cluster(access, "kube-system", "berth-scheduler").extenders[0].url_prefix == ADDRESS
    with pytest.raises(ConfigurationNotFound, match="kube-system/other has 0 documents"):
        from_cluster(access, "kube-system", "other")
    with pytest.raises(ConfigurationNotFound, match="cannot be read: refused"):
        from_cluster(FakeAccess(unreachable="refused"), "kube-system", "x")
