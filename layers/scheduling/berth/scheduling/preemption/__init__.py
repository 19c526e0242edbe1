"""Preemption: which pods have to go from a node for a pod to fit, and from which node they had best go.

The rules are kube-scheduler's (facts 30 to 34), on the filters of any profile. `evaluator` puts them together for a
cycle of its own, `agreement` judges what kube-scheduler has worked out. Nothing here evicts anybody.
"""
