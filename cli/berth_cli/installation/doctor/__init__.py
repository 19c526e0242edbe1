"""`berth doctor`: checks an installation.

inputs.py reads the inputs that the options name, checklist.py runs the checks, findings.py prints the findings. checks/
has one module for each subject.
"""
