"""The BerthConfiguration document, validated by pydantic. Other packages define the sections that belong to them."""
