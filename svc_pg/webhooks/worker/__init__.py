"""The program that delivers: claim what is due, POST it, acknowledge the result."""
