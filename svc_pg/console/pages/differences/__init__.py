"""Differences of values for people: by words, by lines and by paths of JSON, each bounded by counted steps."""
