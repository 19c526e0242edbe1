"""BerthConfiguration documents: read, checked, tried on the verbs, applied."""
