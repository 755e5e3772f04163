"""Sessions of the application and of tokens, their limits, and the log of who came."""
