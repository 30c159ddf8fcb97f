-- The addresses of the rows whose turn it is. Limit: how many, Also: what else must hold.
array(
    select w.ctid
    from mbus4.work_queue w
    where w.process_id is null and w.next_attempt_at <= (select pg_catalog.clock_timestamp()) {{.Also}}
    order by w.next_attempt_at, w.id
    limit {{.Limit}}
    for update skip locked)
