"""Two runs of the scheduler's control loop side by side: where each pod is in the end, and how loaded each node is."""
