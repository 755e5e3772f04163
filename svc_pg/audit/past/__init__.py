"""The past, from the audit log: histories, rows as of a time, and reverted changes."""
