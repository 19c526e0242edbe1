"""A cluster and pods as files: dumps of kubectl, and manifests with what the API server would add."""
