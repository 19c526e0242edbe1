"""`berth bench`: measure the verbs of an installation from where the command runs."""
