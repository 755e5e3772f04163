"""The forms in which values are read and written: durations, times, JSON, plain words."""
