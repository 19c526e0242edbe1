"""The wire contract with kube-scheduler (docs/extender-contract.md) and one module per verb."""
