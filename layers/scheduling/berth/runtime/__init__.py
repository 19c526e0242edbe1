"""What every function needs around its verb: settings, HTTP events, logs and metrics."""
