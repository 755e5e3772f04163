"""Facts of a running installation, for status, metrics and pages."""
