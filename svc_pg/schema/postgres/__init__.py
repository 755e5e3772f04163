"""Install into PostgreSQL."""
