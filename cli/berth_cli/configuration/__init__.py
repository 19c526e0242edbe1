"""BerthConfiguration documents: reading, validation, trial on the verbs, and application."""
