"""`berth scheduler-config`: print the kube-scheduler configuration that calls Berth."""
