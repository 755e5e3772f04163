"""Install svc-pg into SQLite, compare it, and remove it."""
