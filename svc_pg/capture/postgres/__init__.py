"""Rules as PL/pgSQL functions and triggers of PostgreSQL."""
