"""Sign-in: people get a session by a code that is mailed to them, or at once on their own machine."""
