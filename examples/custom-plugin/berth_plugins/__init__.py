"""Plugins of our own, for Berth."""
