"""The commands ``webhooks ...``, a module for each subject."""
