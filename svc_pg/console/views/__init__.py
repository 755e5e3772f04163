"""Questions that are kept under a name, and suggestions for one that is being written."""
