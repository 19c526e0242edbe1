"""A cluster and pods as files: dumps of kubectl, and manifests with the API server's defaults."""
