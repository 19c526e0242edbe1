"""Pods a second through a real kube-scheduler, compared with no extender and with a minimal extender."""
