"""Seal the log, and keep copies of the seals outside."""
