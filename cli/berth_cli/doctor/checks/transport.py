"""Encryption, verification and passwords between scheduler and Berth (facts 36 and 37)."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from berth_cli.doctor.findings import CheckName, Finding, failed, ok, warning
from berth_cli.doctor.scheduler.configuration import Extender
from berth_cli.doctor.scheduler.scheduler_side import SchedulerSide
from berth_cli.scheduler_config.address import PASSWORD_PLACEHOLDER
from berth_cli.scheduler_config.notes import is_loopback


def check_transport(side: SchedulerSide) -> Iterator[Finding]:
    """All entries of Berth; equal findings are reported once."""
    yield from dict.fromkeys(finding for entry in side.berth_extenders for finding in _transport(entry))


def _transport(entry: Extender) -> Iterator[Finding]:
    parts, tls = urlsplit(entry.url_prefix), entry.tls_config
    yield _scheme(entry)
    if parts.scheme == "https":
        yield _verification(entry)
    if tls is not None and tls.has_half:
        yield failed(
            CheckName.TLS_CONFIG,
            "a client certificate without its key, or a key without its certificate: kube-scheduler does not start",
            "give both certFile and keyFile, or both certData and keyData",
        )
    if parts.password == PASSWORD_PLACEHOLDER:
        yield failed(
            CheckName.CREDENTIALS, f"{PASSWORD_PLACEHOLDER} is in place of the password", "replace it with the password"
        )
    elif parts.password is not None:
        yield warning(
            CheckName.CREDENTIALS,
            "the password is in the urlPrefix: it is visible in a pod's events after any status but 200, and in the "
            "scheduler's log at -v=2 (fact 37)",
            "authenticate by client certificate; until then run kube-scheduler with -v=1",
        )


def _scheme(entry: Extender) -> Finding:
    parts = urlsplit(entry.url_prefix)
    if parts.scheme == "https":
        return ok(CheckName.URL_PREFIX, "https")
    if parts.scheme != "http" or not parts.hostname:
        return failed(CheckName.URL_PREFIX, "not an http or https address", "set it to https://HOST/scheduler")
    if entry.enable_https or entry.tls_config is not None:
        return failed(
            CheckName.URL_PREFIX,
            "http with TLS settings: enableHTTPS does not change the scheme, so nothing is encrypted (fact 36)",
            "use https:// in urlPrefix",
        )
    if is_loopback(parts.hostname):
        return ok(CheckName.URL_PREFIX, "http, loopback only")
    return warning(
        CheckName.URL_PREFIX, "http: anyone on the network path can read and change requests and responses", "use https"
    )


def _verification(entry: Extender) -> Finding:
    check, tls = CheckName.VERIFICATION, entry.tls_config
    if tls is not None and tls.insecure:
        return failed(check, "tlsConfig.insecure: anyone on the network path can impersonate Berth", "set a CA instead")
    if entry.enable_https and not (tls is not None and tls.has_ca):
        return failed(
            check,
            "enableHTTPS without a CA disables the verification of the server (fact 36)",
            "remove enableHTTPS; for a private CA set tlsConfig.caFile or caData",
        )
    return ok(check, "by tlsConfig's CA" if tls is not None and tls.has_ca else "by the system's root certificates")
