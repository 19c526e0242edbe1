"""`berth doctor`: check an installation.

inputs.py reads what the options name, checklist.py runs the checks, findings.py prints what they find. checks/ has one
module for each subject.
"""
