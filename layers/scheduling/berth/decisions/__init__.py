"""Records of decisions: what a verb decided about a pod, kept small and read later."""
