"""`make local-stack`: runs the deployed stack in an emulated AWS account on this machine, until Ctrl-C."""
