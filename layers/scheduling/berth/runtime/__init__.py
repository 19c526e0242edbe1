"""Settings, HTTP events, logs and metrics: the parts that every function needs around its verb."""
