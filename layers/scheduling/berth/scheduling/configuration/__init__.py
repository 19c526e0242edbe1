"""The BerthConfiguration document, validated by pydantic; one module for each section that no other package has."""
