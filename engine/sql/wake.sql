-- Part of the calls that remove messages ({c}_d): what waited for these only is woken, a few at most;
-- the Releaser does the rest. nextval comes before the clock and tells the Hinter that a message appears.
{c}_u as (
    update mbus4.message m
    set available_at = case when pg_catalog.nextval('mbus4.message_id') > 0
                            then greatest(m.delayed_until, pg_catalog.clock_timestamp()) end
    where m.ctid = any(array(
        select w.ctid
        from {c}_d d
        join mbus4.waiting g on g.dep = d.iid
        join mbus4.message w on w.consumer_id = g.consumer_id and w.available_at = 'infinity' and w.id = g.id
        where w.after is not null
          and not exists (
              select from pg_catalog.unnest(w.after) d (dep)
              cross join lateral mbus4.undelivered(d.dep) o
              where not exists (select from {c}_d gone where gone.consumer_id = o.consumer_id and gone.id = o.id))
        limit 100
        for update of w skip locked
    ))
),
