-- PostgreSQL compiles each check anew for each statement that inserts or updates. Two of this table follow from the
-- others: a status that is neither pending nor delivered is the failure, which is one of two; and the attempts are at
-- least those that were lost, which are at least none.
alter table svc.webhook_deliveries
    drop constraint webhook_deliveries_status_check,
    drop constraint webhook_deliveries_attempts_check;
