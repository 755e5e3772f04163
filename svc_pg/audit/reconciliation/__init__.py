"""Compare the rows of audited tables with the last images of their records in the log."""
