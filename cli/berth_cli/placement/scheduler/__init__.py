"""kube-scheduler's control loop: filter, score, preempt and bind, one pod at a time."""
