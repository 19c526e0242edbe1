"""The BerthConfiguration document, validated by pydantic; a module for each of its sections that no other room has."""
