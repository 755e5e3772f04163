"""The pages of the audit log."""
