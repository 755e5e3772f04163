"""Read the audit log: its entries, in each order."""
