"""Logs, metrics and traces: one log line and one set of metrics per call."""
