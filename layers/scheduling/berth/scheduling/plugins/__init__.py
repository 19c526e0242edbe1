"""One module per plugin; `registry` maps kube-scheduler style names to them."""
