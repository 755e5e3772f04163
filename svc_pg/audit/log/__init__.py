"""The audit log as every database has it: entries, what is asked of them, and what reports tell."""
