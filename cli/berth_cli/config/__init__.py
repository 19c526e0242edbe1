"""`berth config`: check and apply BerthConfiguration documents, and print their JSON Schema."""
