"""Memory and pools of `berth serve` under a steady stream of pods: `python -m tests.soak.serve_memory`."""
