"""The common model of audit logs of all databases: entries, conditions on them, and reports."""
