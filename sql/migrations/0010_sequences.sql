comment on column svc.webhook_messages.sequence is
    'Rises with each message of its tenant and key, in the order of commits. Only the order has a meaning.';
