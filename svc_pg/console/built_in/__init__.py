"""The products that come with the console: account, audit, tenant and webhooks."""
