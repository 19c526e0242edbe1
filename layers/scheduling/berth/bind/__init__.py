"""The verb bind: it announces pods, reserves counted resources, waits for gangs, and creates the Binding."""
