"""`berth certificates`: a private authority for a cluster, and the client certificates that it gives out."""

from berth_cli.certificates.command import certificates

__all__ = ["certificates"]
