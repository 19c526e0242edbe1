"""Preemption by kube-scheduler's rules (facts 30 to 34), on the filters of any profile. It does not evict pods."""
