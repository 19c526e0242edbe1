"""What is said when the API server gave no answer: the cause, and what to do about it."""

from __future__ import annotations

import ssl

import urllib3


class ApiServerUnreachable(Exception):
    """No answer came. The request may have been carried out all the same."""


class CredentialsUnavailable(ApiServerUnreachable):
    """The request was not sent, or refused with 401, since there are no credentials that the server accepts."""


def unreachable(error: urllib3.exceptions.HTTPError, host: str) -> ApiServerUnreachable:
    """The exception for what went wrong between us and `host`."""
    return ApiServerUnreachable(_cause(error, host))


def _cause(error: urllib3.exceptions.HTTPError, host: str) -> str:
    if isinstance(error, urllib3.exceptions.SSLError):
        if not any(isinstance(part, ssl.SSLCertVerificationError) for part in error.args):
            return f"TLS with {host} failed ({error})"
        return (
            f"the certificate of {host} is not trusted; set certificate-authority-data in the kubeconfig "
            f"or the EKS settings ({error})"
        )
    if isinstance(error, urllib3.exceptions.NewConnectionError | urllib3.exceptions.ConnectTimeoutError):
        return f"{host} cannot be reached; check the kubeconfig's server and the network to it"
    if isinstance(error, urllib3.exceptions.TimeoutError):
        return f"{host} did not answer in time"
    return f"the connection to {host} broke ({type(error).__name__})"
