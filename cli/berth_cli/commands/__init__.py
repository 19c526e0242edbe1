"""The commands of `berth`, one module each. They read the command line and print; what they do is below them."""
