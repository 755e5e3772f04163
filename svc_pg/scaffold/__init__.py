"""The first configuration of a project: its tables, what to redact in them, and the next steps of its framework."""
