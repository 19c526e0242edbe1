"""Plugins of our own, for Berth."""

__version__ = "1.0.0"
