"""Berth: a Kubernetes scheduler extender without a server."""

__version__ = "0.1.0"
