"""A cluster from a file: what `kubectl get nodes,pods,… -A -o yaml` printed."""
