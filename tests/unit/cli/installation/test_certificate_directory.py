"""The directory of an authority: allowed certificates over time, protection of existing files, and the fields of its
certificates and keys that API Gateway, Go and OpenSSL evaluate."""

from __future__ import annotations

import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from berth.authentication.allow_list import parse
from berth.authentication.outcomes import AuthorizerOutcome
from berth_cli.installation.certificate_directory import (
    CertificateDirectory,
    CertificateError,
    CertificateState,
    IssuedCertificate,
    KeyPair,
    new_authority,
    new_client,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
YEAR = 365 * DAY


@pytest.fixture
def directory(tmp_path: Path) -> CertificateDirectory:
    made = CertificateDirectory(tmp_path / "certificates")
    made.create("my-cluster", NOW, 10 * YEAR)
    return made


def listing(directory: CertificateDirectory, issued: IssuedCertificate, at: datetime) -> AuthorizerOutcome:
    """Return the authorizer's outcome for this certificate, by the current allow-list file."""
    return parse(directory.allow_list_file.read_text()).status([int(issued.serial, 16)], at.timestamp())


def state(directory: CertificateDirectory, issued: IssuedCertificate, at: datetime) -> CertificateState:
    [found] = directory.record().find(issued.serial)
    return found.state(at)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_key_files_are_readable_only_by_their_owner(directory: CertificateDirectory) -> None:
    issued = directory.issue("scheduler", NOW, YEAR)
    _, key = directory.files(issued)
    assert (mode(directory.path), mode(directory.authority_key_file), mode(key)) == (0o700, 0o600, 0o600)


def test_only_key_files_contain_private_keys(directory: CertificateDirectory) -> None:
    directory.issue(directory.issue("scheduler", NOW, YEAR).name, NOW, YEAR, DAY)
    for path in directory.path.iterdir():
        assert (b"PRIVATE KEY" in path.read_bytes()) is (path.suffix == ".key")


def test_issued_certificate_is_on_the_allow_list(directory: CertificateDirectory) -> None:
    issued = directory.issue("scheduler", NOW, YEAR)
    assert listing(directory, issued, NOW) is AuthorizerOutcome.ALLOWED
    assert state(directory, issued, NOW) is CertificateState.ACTIVE


def test_rotation_allows_both_certificates_during_overlap(directory: CertificateDirectory) -> None:
    before = directory.issue("scheduler", NOW, YEAR)
    after = directory.issue("scheduler", NOW, YEAR, 7 * DAY)
    assert listing(directory, before, NOW + 6 * DAY) is AuthorizerOutcome.ALLOWED
    assert listing(directory, before, NOW + 7 * DAY) is AuthorizerOutcome.EXPIRED
    assert listing(directory, after, NOW + 7 * DAY) is AuthorizerOutcome.ALLOWED
    assert state(directory, before, NOW + 6 * DAY) is CertificateState.RETIRING
    assert state(directory, before, NOW + 7 * DAY) is CertificateState.RETIRED


def test_revocation_removes_all_certificates_of_a_client(directory: CertificateDirectory) -> None:
    before = directory.issue("scheduler", NOW, YEAR)
    after = directory.issue("scheduler", NOW, YEAR, 7 * DAY)
    other = directory.issue("second-scheduler", NOW, YEAR)
    directory.revoke("scheduler", NOW)
    assert listing(directory, before, NOW) is AuthorizerOutcome.NOT_LISTED
    assert listing(directory, after, NOW) is AuthorizerOutcome.NOT_LISTED
    assert listing(directory, other, NOW) is AuthorizerOutcome.ALLOWED


def test_revoke_accepts_every_notation_of_a_serial(directory: CertificateDirectory) -> None:
    before = directory.issue("scheduler", NOW, YEAR)
    after = directory.issue("scheduler", NOW, YEAR, 7 * DAY)
    assert directory.revoke(f"00:{before.serial.upper()}", NOW)[0].serial == before.serial
    assert listing(directory, before, NOW) is AuthorizerOutcome.NOT_LISTED
    assert listing(directory, after, NOW) is AuthorizerOutcome.ALLOWED


@pytest.mark.parametrize(
    ("overlap", "ends"),
    [
        pytest.param(None, 30 * DAY, id="end of the certificate"),
        pytest.param(7 * DAY, 60 * DAY, id="end of the new certificate after a rotation"),
    ],
)
def test_allow_list_contains_the_end_of_the_certificate_in_use(
    directory: CertificateDirectory, overlap: timedelta | None, ends: timedelta
) -> None:
    directory.issue("scheduler", NOW, 30 * DAY)
    if overlap is not None:
        directory.issue("scheduler", NOW, 60 * DAY, overlap)
    assert parse(directory.allow_list_file.read_text()).first_end() == (NOW + ends).timestamp()


def test_rewritten_allow_list_omits_expired_certificates(directory: CertificateDirectory) -> None:
    issued = directory.issue("scheduler", NOW, DAY)
    directory.write_allow_list(NOW + DAY)
    assert listing(directory, issued, NOW) is AuthorizerOutcome.NOT_LISTED
    assert state(directory, issued, NOW + DAY) is CertificateState.EXPIRED


@pytest.mark.parametrize(
    ("what", "message"),
    [
        pytest.param(lambda it: it.create("c", NOW, YEAR), "already has an authority", id="a second authority"),
        pytest.param(lambda it: it.issue("scheduler", NOW, YEAR), "berth certificates rotate", id="a second issue"),
        pytest.param(lambda it: it.issue("other", NOW, YEAR, DAY), "berth certificates issue other", id="no such one"),
        pytest.param(lambda it: it.revoke("other", NOW), "has no unrevoked certificate other", id="nothing to revoke"),
        pytest.param(lambda it: it.issue("other", NOW, 11 * YEAR), "expires on 2036", id="valid longer than authority"),
    ],
)
def test_rejected_operation_does_not_change_files(directory: CertificateDirectory, what: object, message: str) -> None:
    assert callable(what)
    directory.issue("scheduler", NOW, YEAR)
    before = {path: path.read_bytes() for path in directory.path.iterdir()}
    with pytest.raises(CertificateError, match=message):
        what(directory)
    assert {path: path.read_bytes() for path in directory.path.iterdir()} == before


def test_existing_key_is_never_overwritten(directory: CertificateDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is kept even if a new certificate has the same name and serial."""
    issued = directory.issue("scheduler", NOW, YEAR)
    certificate, key = directory.files(issued)
    before = key.read_bytes()
    same = replace(
        new_authority("other", NOW, YEAR), certificate=x509.load_pem_x509_certificate(certificate.read_bytes())
    )
    directory.revoke("scheduler", NOW)
    monkeypatch.setattr("berth_cli.installation.certificate_directory.new_client", lambda *_: same)
    with pytest.raises(CertificateError, match="exists and is not overwritten"):
        directory.issue("scheduler", NOW, YEAR)
    assert key.read_bytes() == before


@pytest.mark.parametrize("left", ["ca.key", "ca.crt"])
def test_incomplete_authority_is_not_overwritten(tmp_path: Path, left: str) -> None:
    (tmp_path / left).write_text("all that is left")
    with pytest.raises(CertificateError, match="already has an authority"):
        CertificateDirectory(tmp_path).create("my-cluster", NOW, YEAR)
    assert (tmp_path / left).read_text() == "all that is left"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("certificates.json", b"{", "is not a valid certificate record", id="an invalid record"),
        pytest.param(
            "certificates.json", b'{"certificates": [{}]}', "is not a valid certificate record", id="an invalid entry"
        ),
        pytest.param("ca.crt", b"x", "not a certificate and its key in PEM", id="invalid certificate"),
        pytest.param("ca.key", b"x", "not a certificate and its key in PEM", id="an invalid key"),
        pytest.param(
            "ca.key",
            new_authority("other", NOW, YEAR).key_pem,
            "ca.key does not match .*ca.crt",
            id="another authority's key",
        ),
    ],
)
def test_damaged_directory_is_rejected_with_the_cause(
    directory: CertificateDirectory, name: str, content: bytes, message: str
) -> None:
    (directory.path / name).write_bytes(content)
    with pytest.raises(CertificateError, match=message):
        directory.issue("scheduler", NOW, YEAR)


def test_interrupted_issuance_does_not_allow_a_client(
    directory: CertificateDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files exist, but the certificate is not on the list. The next attempt issues another certificate."""
    before = directory.allow_list_file.read_text()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("berth_cli.installation.certificate_directory._replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            directory.issue("scheduler", NOW, YEAR)
    assert directory.allow_list_file.read_text() == before
    assert listing(directory, directory.issue("scheduler", NOW, YEAR), NOW) is AuthorizerOutcome.ALLOWED


@pytest.fixture(scope="module")
def authority() -> KeyPair:
    return new_authority("my-cluster", NOW, 10 * YEAR)


@pytest.fixture(scope="module")
def client(authority: KeyPair) -> KeyPair:
    return new_client("scheduler", authority, NOW, YEAR)


def verify(client: KeyPair, authority: KeyPair, at: datetime) -> None:
    PolicyBuilder().store(Store([authority.certificate])).time(at).build_client_verifier().verify(
        client.certificate, []
    )


def test_client_certificate_verifies_against_its_authority(client: KeyPair, authority: KeyPair) -> None:
    verify(client, authority, NOW)


@pytest.mark.parametrize("at", [NOW - timedelta(minutes=6), NOW + YEAR + timedelta(seconds=1)])
def test_client_certificate_fails_outside_its_validity(client: KeyPair, authority: KeyPair, at: datetime) -> None:
    with pytest.raises(VerificationError):
        verify(client, authority, at)


def test_client_certificate_is_for_client_authentication_only(client: KeyPair) -> None:
    extensions = client.certificate.extensions
    usage = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    key_usage = extensions.get_extension_for_class(x509.KeyUsage)
    assert (key_usage.critical, key_usage.value.digital_signature, key_usage.value.key_cert_sign) == (True, True, False)
    assert extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False


def test_authority_cannot_sign_authorities(authority: KeyPair) -> None:
    extensions = authority.certificate.extensions
    constraints = extensions.get_extension_for_class(x509.BasicConstraints)
    assert (constraints.critical, constraints.value.ca, constraints.value.path_length) == (True, True, 0)
    usage = extensions.get_extension_for_class(x509.KeyUsage).value
    assert (usage.key_cert_sign, usage.digital_signature) == (True, False)


def test_serials_and_keys_are_random(authority: KeyPair) -> None:
    """Serials have 159 bits: they cannot be guessed and do not collide."""
    made = [new_client("scheduler", authority, NOW, YEAR) for _ in range(8)]
    assert len({each.certificate.serial_number for each in made}) == 8
    assert max(each.certificate.serial_number for each in made).bit_length() > 140
    assert len({each.key_pem for each in made}) == 8


def test_keys_use_p256_and_sha256(authority: KeyPair, client: KeyPair) -> None:
    for pair in (authority, client):
        assert isinstance(pair.key.curve, ec.SECP256R1)
        assert pair.certificate.signature_hash_algorithm is not None
        assert pair.certificate.signature_hash_algorithm.name == "sha256"
        assert pair.certificate.version is x509.Version.v3
