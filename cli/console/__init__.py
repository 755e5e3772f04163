"""The commands ``console ...``."""
