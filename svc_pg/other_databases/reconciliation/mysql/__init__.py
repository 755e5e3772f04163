"""MySQL's side of a comparison, and MariaDB's: the database, a table, the places of its rows, their entries."""
