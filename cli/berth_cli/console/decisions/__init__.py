"""The decisions of verbs as the page follows them: of this process, or of a server that runs elsewhere."""
