"""SQL templates of svc-pg: migrations are state, everything else is behaviour."""
