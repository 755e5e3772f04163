"""The seals and the leaves of a database, and the verification of its whole log."""
