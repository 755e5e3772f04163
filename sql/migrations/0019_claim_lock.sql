-- Claims of before take another lock than those of now. None may be under way when these begin: each has read this
-- table, so this waits for its end. One that begins meanwhile waits here, and then takes the lock of now, because
-- svc.webhook_return_lost does.
lock table svc.webhook_parked_endpoints in access exclusive mode;
