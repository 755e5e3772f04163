"""The SQL of svc-pg: migrations are state, queries are what Python sends, everything else is behaviour."""
