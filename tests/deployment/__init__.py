"""The stack's way from template.yaml into an account that is emulated on this machine."""
