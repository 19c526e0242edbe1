"""Selects victims by kube-scheduler's rules (facts 30 to 34), with the filters of any profile. Berth does not evict."""
