"""Computes verdicts and scores from pods and nodes. No I/O, no clock, no AWS, no Kubernetes client."""
