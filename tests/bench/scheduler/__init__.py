"""Pods a second through a real kube-scheduler, beside no extender and one that does not look."""
