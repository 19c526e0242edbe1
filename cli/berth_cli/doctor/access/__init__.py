"""What the checks read from outside, each as a port with its adapter: AWS account, extender endpoint, cluster."""
