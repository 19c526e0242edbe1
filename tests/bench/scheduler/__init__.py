"""Pods a second through a real kube-scheduler, with Berth and with what it is compared with."""
