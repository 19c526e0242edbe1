"""How bind reserves counted resources: the port's implementation, one attempt, the choice of devices."""
