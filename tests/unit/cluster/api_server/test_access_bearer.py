"""API servers that take a bearer token: how they are reached, and what is verified."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import urllib3

from berth.cluster.api_server.access import BearerServer
from berth.cluster.api_server.client import ApiServer, ApiServerUnreachable, Connections
from tests.builders.certificates import self_signed
from tests.fakes.clock import HandDrivenClock
from tests.unit.cluster.driven_api_server import driven_api_server

PROXY = "http://proxy.example:3128"
NETWORK = "10.0.0.0/8"


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


def token() -> str:
    return "token-1"


@pytest.mark.parametrize(
    ("variables", "host", "proxy"),
    [
        pytest.param({}, "https://10.0.0.1", None, id="no proxy"),
        pytest.param({"HTTPS_PROXY": PROXY}, "https://10.0.0.1", PROXY, id="the environment's proxy"),
        pytest.param({"HTTPS_PROXY": PROXY, "NO_PROXY": NETWORK}, "https://10.0.0.1", None, id="a server of NO_PROXY"),
        pytest.param({"HTTPS_PROXY": PROXY, "NO_PROXY": NETWORK}, "https://11.0.0.1", PROXY, id="not of NO_PROXY"),
    ],
)
@pytest.mark.parametrize("as_file", [pytest.param(False, id="PEM"), pytest.param(True, id="file")])
def test_uses_proxy_from_the_environment_and_verifies_the_server(
    no_proxy: pytest.MonkeyPatch, tmp_path: Path, variables: dict[str, str], host: str, proxy: str | None, as_file: bool
) -> None:
    certificate, _ = self_signed(tmp_path, "ca")
    for name, value in variables.items():
        no_proxy.setenv(name, value)
    authority = certificate if as_file else certificate.read_text()
    pool = Connections().pool(BearerServer(host, authority, token))
    given = pool.connection_pool_kw
    assert given["cert_reqs"] == ssl.CERT_REQUIRED
    assert (given.get("ca_certs") if as_file else given.get("ca_cert_data")) == (
        str(certificate) if as_file else certificate.read_text()
    )
    assert (pool.proxy.url if isinstance(pool, urllib3.ProxyManager) and pool.proxy else None) == proxy


@pytest.mark.usefixtures("no_proxy")
def test_rejects_server_certified_by_another_authority(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*self_signed(tmp_path, "server"))
    other, _ = self_signed(tmp_path, "other")
    with driven_api_server(context) as server:
        api = ApiServer(BearerServer(server.host, other, token), HandDrivenClock())
        with pytest.raises(ApiServerUnreachable, match=r"certificate of .* is not trusted"):
            api.request("GET", "/version", timeout=5)
