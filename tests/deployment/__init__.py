"""Builds, transforms and deploys template.yaml into an AWS account that is emulated on this machine."""
