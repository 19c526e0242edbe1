"""TLS files that are replaced, or expire, while a server runs."""

from __future__ import annotations

import ssl
import time
from datetime import timedelta
from pathlib import Path

import pytest

from berth_cli.server.http.tls import MAX_NOTICE, TLS, InvalidTLSFiles
from tests.builders.certificates import self_signed

DAYS = timedelta(days=1).total_seconds()


def handshake(server: ssl.SSLContext, authority: Path, client: tuple[Path, Path] | None = None) -> bool:
    """Return whether a client that has this certificate, and trusts this authority, connects."""
    context = ssl.create_default_context(cafile=str(authority))
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if client is not None:
        context.load_cert_chain(*client)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        context.wrap_bio(to_client, to_server, server_hostname="127.0.0.1"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError:
                return False
    return True


def replace(target: tuple[Path, Path], source: tuple[Path, Path]) -> None:
    for old, new in zip(target, source, strict=True):
        old.write_bytes(new.read_bytes())


def test_new_connections_use_a_rotated_certificate(tmp_path: Path) -> None:
    files, rotated = self_signed(tmp_path, "server"), self_signed(tmp_path, "rotated")
    (tmp_path / "old.crt").write_bytes(files[0].read_bytes())
    tls = TLS(*files)
    assert handshake(tls.context, tmp_path / "old.crt")
    replace(files, rotated)
    assert tls.reload(time.time()) == ""
    assert handshake(tls.context, rotated[0])
    assert not handshake(tls.context, tmp_path / "old.crt")


def test_new_connections_accept_only_clients_of_the_rotated_authority(tmp_path: Path) -> None:
    files, old, new = (self_signed(tmp_path, name) for name in ("server", "old-client", "new-client"))
    authority = tmp_path / "ca.crt"
    authority.write_bytes(old[0].read_bytes())
    tls = TLS(*files, authority)
    assert [handshake(tls.context, files[0], client) for client in (old, new, None)] == [True, False, False]
    authority.write_bytes(new[0].read_bytes())
    assert tls.reload(time.time()) == ""
    assert [handshake(tls.context, files[0], client) for client in (old, new, None)] == [False, True, False]


@pytest.mark.parametrize("broken", ["missing", "not PEM", "another key"])
def test_files_that_do_not_match_are_reported_and_not_used(tmp_path: Path, broken: str) -> None:
    files, other = self_signed(tmp_path, "server"), self_signed(tmp_path, "other")
    tls = TLS(*files)
    key = files[1].read_bytes()
    if broken == "missing":
        files[1].unlink()
    else:
        files[1].write_bytes(b"hunter2" if broken == "not PEM" else other[1].read_bytes())
    problem = tls.reload(time.time())
    assert problem.startswith(f"--tls-cert {files[0]}, --tls-key {files[1]}: ")
    assert "hunter2" not in problem
    assert handshake(tls.context, files[0])
    files[1].write_bytes(key)
    assert tls.reload(time.time()) == ""


def test_authority_file_without_a_certificate_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("hunter2")
    with pytest.raises(InvalidTLSFiles, match=r"--client-ca .*/ca.crt: contains no certificate$"):
        TLS(*self_signed(tmp_path, "server"), tmp_path / "ca.crt")


@pytest.mark.parametrize(
    ("validity", "left", "problem"),
    [
        pytest.param(100 * DAYS, 10.1 * DAYS, "", id="more than a tenth is left"),
        pytest.param(100 * DAYS, 9.9 * DAYS, "expires at ", id="a tenth is left"),
        pytest.param(1000 * DAYS, MAX_NOTICE.total_seconds() + 60, "", id="more than two weeks are left"),
        pytest.param(1000 * DAYS, MAX_NOTICE.total_seconds() - 60, "expires at ", id="two weeks are left"),
        pytest.param(1 * DAYS, -60, "has expired at ", id="it has expired"),
    ],
)
@pytest.mark.parametrize("option", ["--tls-cert", "--client-ca"])
def test_certificate_is_reported_shortly_before_and_after_its_expiry(
    tmp_path: Path, option: str, validity: float, left: float, problem: str
) -> None:
    server, long = self_signed(tmp_path, "server", ends=timedelta(days=2000)), tmp_path / "ca.crt"
    long.write_bytes(server[0].read_bytes())
    ending = self_signed(tmp_path, "ending", ends=timedelta(seconds=validity - 3600))
    replace(server, ending) if option == "--tls-cert" else long.write_bytes(ending[0].read_bytes())
    tls = TLS(*server, long)
    found = tls.reload(time.time() + validity - 3600 - left)
    assert problem in found
    assert bool(found) is bool(problem)
    assert not found or found.startswith(f"{option} ")


def test_one_valid_authority_of_several_suffices(tmp_path: Path) -> None:
    server = self_signed(tmp_path, "server", ends=timedelta(days=2000))
    old, new = (self_signed(tmp_path, name, ends=timedelta(days=days)) for name, days in (("old", -1), ("new", 500)))
    authority = tmp_path / "ca.crt"
    authority.write_bytes(old[0].read_bytes() + new[0].read_bytes())
    assert TLS(*server, authority).reload(time.time()) == ""
