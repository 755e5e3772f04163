"""A Django application whose models are audited."""
