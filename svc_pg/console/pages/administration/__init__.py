"""The pages below Administration: tenants, people and programs, and the system itself."""
