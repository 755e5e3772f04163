"""Export the audit log, whole or as it grows."""
