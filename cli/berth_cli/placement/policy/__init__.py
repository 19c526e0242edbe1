"""`berth policy`: tests a policy on its cases, and compares a new policy with the old one."""
