"""The configuration in force: the document that was applied, or else the one that was deployed."""
