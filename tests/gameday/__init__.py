"""`make game-day`: faults on the deployed stack in the emulator, and the alarms, findings and times of each fault."""
