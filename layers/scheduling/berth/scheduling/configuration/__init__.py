"""The BerthConfiguration document, validated by pydantic."""
