"""What svc-pg brings into other frameworks: who acts in a transaction, and the verification of received webhooks."""
