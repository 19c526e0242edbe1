"""Preemption: which pods must leave a node so that a pod fits, and which node is the best choice.

The rules are kube-scheduler's (facts 30 to 34), on the filters of any profile. `victim_review` checks the victims that
kube-scheduler proposes. This package evicts no pod.
"""
