"""The version of svc-pg. It imports nothing, so that every room may name it."""

__version__ = "0.1.0"
