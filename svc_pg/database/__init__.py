"""Connections and queries: the ways in which svc-pg talks to a database."""
