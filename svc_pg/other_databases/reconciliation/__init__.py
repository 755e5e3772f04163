"""Compare the rows of audited tables of SQLite, MySQL and MariaDB with the last images of their records in the log."""
