"""`berth doctor`: check an installation.

inputs.py reads what the options name, checklist.py selects the checks, runner.py runs them, report.py prints the
findings. access/ has the ports and adapters, checks/ one module for each subject.
"""
