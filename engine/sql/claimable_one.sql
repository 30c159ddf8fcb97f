-- Part of step/process_queue.sql.
{claimable:1}
