"""The wire contract with kube-scheduler (docs/reference/extender-contract.md) and one module per verb."""
