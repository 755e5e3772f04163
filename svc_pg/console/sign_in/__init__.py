"""How people get a session: by a code that is mailed to them, or on their own machine at once."""
