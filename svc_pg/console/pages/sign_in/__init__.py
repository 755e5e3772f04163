"""The pages that sign people in."""
