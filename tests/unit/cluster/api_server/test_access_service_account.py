"""Access with the service account of a pod."""

from __future__ import annotations

from pathlib import Path

import pytest

from berth.cluster.api_server.access import authorization, from_service_account
from berth.nodecache.feed.cluster import ClusterUnavailable
from tests.fakes.clock import HandDrivenClock

ENVIRON = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("token-1\n")
    (tmp_path / "ca.crt").write_text("-----BEGIN CERTIFICATE-----")
    return tmp_path


def test_reads_server_token_and_authority(mount: Path) -> None:
    server = from_service_account(ENVIRON, HandDrivenClock(), mount)
    assert server.host == "https://10.0.0.1:443"
    assert server.authority == mount / "ca.crt"
    assert authorization(server) == {"Authorization": "Bearer token-1"}


def test_puts_ipv6_address_into_brackets(mount: Path) -> None:
    environ = ENVIRON | {"KUBERNETES_SERVICE_HOST": "fd00::1"}
    assert from_service_account(environ, HandDrivenClock(), mount).host == "https://[fd00::1]:443"


@pytest.mark.parametrize(
    ("seconds", "wanted"),
    [
        pytest.param(59, "Bearer token-1", id="before a minute"),
        pytest.param(60, "Bearer token-2", id="after a minute"),
        pytest.param(-1, "Bearer token-2", id="when the clock was set back"),
    ],
)
def test_reads_the_token_file_again_after_a_minute(mount: Path, seconds: float, wanted: str) -> None:
    clock = HandDrivenClock()
    server = from_service_account(ENVIRON, clock, mount)
    (mount / "token").write_text("token-2")
    clock.advance(seconds)
    assert authorization(server) == {"Authorization": wanted}


@pytest.mark.parametrize(
    ("environ", "file", "content", "message"),
    [
        pytest.param(
            {},
            "token",
            "token-1",
            "KUBERNETES_SERVICE_HOST and .*: this is not a pod; run it in one, or",
            id="outside a pod",
        ),
        pytest.param(ENVIRON, "token", None, "token: No such file or directory; is a service account", id="no token"),
        pytest.param(ENVIRON, "token", " \n", "token is empty: .*; the kubelet writes it", id="an empty token"),
        pytest.param(ENVIRON, "ca.crt", None, "ca.crt: No such file or directory; is a service", id="no authority"),
        pytest.param(
            ENVIRON,
            "ca.crt",
            "",
            "ca.crt is empty: .* has no certificate authority; it comes from",
            id="an empty authority",
        ),
    ],
)
def test_names_missing_file_or_variable(
    mount: Path, environ: dict[str, str], file: str, content: str | None, message: str
) -> None:
    if content is None:
        (mount / file).unlink()
    else:
        (mount / file).write_text(content)
    with pytest.raises(ClusterUnavailable, match=message):
        from_service_account(environ, HandDrivenClock(), mount)
