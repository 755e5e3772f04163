"""Adapters to frameworks and drivers: the actor of a transaction, and the verification of received webhooks."""
