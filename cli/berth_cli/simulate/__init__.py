"""`berth simulate`: place the pods of a cluster dump as kube-scheduler with Berth would.

The module jsonl is the interface for programs. It does not import click.
"""
