"""docs/deployer-policy.json, derived from CloudFormation's schemas of the types in the processed template."""
