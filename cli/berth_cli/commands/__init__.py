"""The commands of `berth`, one module each. They read the command line and print results; other modules do the work."""
