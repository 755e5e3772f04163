"""Send events, and know their types and payloads."""
