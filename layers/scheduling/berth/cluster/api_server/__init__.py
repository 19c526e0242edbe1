"""The Kubernetes API server: connections, and the credentials for it."""
