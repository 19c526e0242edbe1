"""kube-scheduler's control loop on a dump or a recording, and the comparison of two runs."""
