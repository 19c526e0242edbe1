"""The pre-traffic hook of a CodeDeploy deployment."""
