"""What a call costs, beside committed values: counts in `make test-long`, counts and ratios in `make bench-guard`."""
