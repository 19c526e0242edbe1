"""The files of the page, read once, and the header fields that limit what they may do in the browser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parent.parent / "page"
INDEX = "index.html"

CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        # No script can turn a text into markup: names of nodes and pods are texts only.
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""Nothing inline, nothing from elsewhere, and no frame around it."""

SECURITY_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
"""For every answer."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is sent."""

    content_type: str
    content: bytes


def read_assets(page: Path = PAGE) -> Mapping[str, Asset]:
    """The files by their path in URLs; no other path is ever looked up in the file system."""
    found = {
        f"/{path.relative_to(page).as_posix()}": Asset(CONTENT_TYPES[path.suffix], path.read_bytes())
        for path in sorted(page.rglob("*"))
        if path.suffix in CONTENT_TYPES
    }
    return found | {"/": found[f"/{INDEX}"]}
