-- Part of step/process_queue.sql.
{claimable:1;and (w.next_attempt_at, w.id) >= (mbus4_from_at, mbus4_from_id)}
