"""Pytest finds berth_plugins in this folder because of this file."""
