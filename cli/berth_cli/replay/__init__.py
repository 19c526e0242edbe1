"""`berth replay`: make recorded decisions again."""
