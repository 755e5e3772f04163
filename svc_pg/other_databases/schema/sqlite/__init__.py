"""Install into SQLite, compare with it and remove from it."""
