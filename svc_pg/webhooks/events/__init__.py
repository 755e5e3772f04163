"""Send events; their types and payloads."""
