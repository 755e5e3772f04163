create temporary table made_up_message (old_id uuid, id uuid, at timestamptz) on commit drop;
create temporary table made_up_delivery (
    old_id uuid, id uuid, message_id uuid, endpoint_id uuid, status text, attempts integer, at timestamptz,
    next_attempt_at timestamptz, finished_at timestamptz, last_status_code integer
) on commit drop;
create temporary table made_up_attempt (
    delivery_id uuid, endpoint_id uuid, attempt integer, started_at timestamptz, duration_ms integer, outcome text,
    status_code integer, response_headers json, response_body text
) on commit drop
