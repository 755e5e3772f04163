"""The worker: claim due deliveries, POST them, acknowledge the results."""
