-- A session of MySQL may choose the next generated id (insert_id). Triggers give it to a row of this table, and not to
-- an entry. Empty between statements.
create table if not exists svc.audit_insert_ids (
    connection_id bigint unsigned not null,
    id bigint unsigned not null auto_increment,
    primary key (connection_id, id),
    key audit_insert_ids_id (id)
) engine = InnoDB;
