"""SQLite's side of a comparison: the database, a table, the places of its rows, their entries."""
