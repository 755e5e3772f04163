"""A question to a list as one line of text, for example ``actor:mara severity:critical yesterday "tent"``."""
