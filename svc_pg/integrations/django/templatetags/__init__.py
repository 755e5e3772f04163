"""Template tags: ``{% load svc_pg %}``."""
