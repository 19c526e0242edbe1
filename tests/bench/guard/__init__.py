"""What a call costs, beside committed values: counts in every test run, ratios in the lanes."""
