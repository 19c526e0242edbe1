"""kube-scheduler's control loop on a dump or a recording, and what differs between two runs."""
