-- The addresses of the rows whose turn it is. $1: how many, $2: what else must hold.
array(
    select w.ctid
    from mbus4.work_queue w
    where w.process_id is null and w.next_attempt_at <= (select pg_catalog.clock_timestamp()) $2
    order by w.next_attempt_at, w.id
    limit $1
    for update skip locked)
