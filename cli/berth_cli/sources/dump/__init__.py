"""A cluster and pods as files: dumps of kubectl, and manifests with the fields that the API server would add."""
