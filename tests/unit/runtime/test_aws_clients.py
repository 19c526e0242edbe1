"""The botocore session: its clients equal the clients of botocore's own loader, and are created faster."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import DataNotFoundError, UnknownServiceError
from botocore.loaders import Loader
from botocore.session import Session

from berth.runtime import aws_clients

LOADER: Any = aws_clients.SESSION.get_component("data_loader")
REGION = "eu-central-1"
KEYS: Any = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": REGION}


@pytest.mark.parametrize("service", aws_clients.SERVICES)
@pytest.mark.parametrize("kind", ["service-2", "endpoint-rule-set-1"])
def test_describes_services_like_botocore(service: str, kind: str) -> None:
    found, known = LOADER.load_service_model(service, kind), Loader().load_service_model(service, kind)
    assert found == known
    # Shapes are written in this order.
    assert list(found) == list(known)


@pytest.mark.parametrize("name", ["endpoints", "partitions", "_retry", "sdk-default-configuration"])
def test_reads_data_files_like_botocore(name: str) -> None:
    assert LOADER.load_data(name) == Loader().load_data(name)


def test_rejects_absent_file_like_botocore() -> None:
    with pytest.raises(DataNotFoundError):
        LOADER.load_data("absent")


@pytest.mark.parametrize("service", aws_clients.SERVICES)
def test_client_has_the_same_endpoint_as_with_botocore(service: Any) -> None:
    found, known = aws_clients.SESSION.create_client(service, **KEYS), Session().create_client(service, **KEYS)
    assert found.meta.endpoint_url == known.meta.endpoint_url
    assert found.meta.service_model.operation_names == known.meta.service_model.operation_names


def test_first_client_lists_only_the_folder_of_its_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """botocore lists the folders of all services, which takes a quarter of the time to create a client."""
    folders: list[str] = []
    listdir = os.listdir

    def recorded(path: str) -> list[str]:
        folders.append(path)
        return listdir(path)

    monkeypatch.setattr(os, "listdir", recorded)
    aws_clients.new_session().create_client("dynamodb", **KEYS)
    assert {Path(folder).name for folder in folders} == {"dynamodb"}


def test_rejects_a_service_that_is_not_listed() -> None:
    with pytest.raises(UnknownServiceError):
        aws_clients.new_session().create_client("s3", **KEYS)
