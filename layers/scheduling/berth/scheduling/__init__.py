"""Pure decisions: pods and nodes in, verdicts and scores out. No I/O, no clock, no AWS, no Kubernetes client."""
