"""`berth doctor`: inputs.py reads the inputs, checklist.py runs the checks, findings.py prints the findings."""
