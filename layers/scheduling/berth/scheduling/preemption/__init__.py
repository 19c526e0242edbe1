"""Selects victims by kube-scheduler's rules (facts 30 to 34), with any profile's filters. Berth does not evict pods."""
