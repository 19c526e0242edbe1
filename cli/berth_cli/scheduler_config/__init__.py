"""`berth scheduler-config`: what kube-scheduler needs in order to ask Berth."""
