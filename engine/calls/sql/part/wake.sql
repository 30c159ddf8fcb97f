-- Part of the calls that remove messages (_taken): what waited for these only is woken, a few at most;
-- the releaser (engine/housekeeping/releaser.go) does the rest. Nearly always nothing waits, which one probe of an index for each message
-- says: it is ordered and limited so that no statistics can make the planner read the table instead.
-- An id, which is not used, comes before the clock and tells the hinter that a message appears.
{{.Call}}_woken as (
    update mbus4.message m
    set available_at = case when {{template "message_id" .With "Queue" "(select c.qname from mbus4.consumer c where c.id = m.consumer_id)" "Once" ""}} > 0
                            then greatest(m.delayed_until, pg_catalog.clock_timestamp()) end
    where m.ctid = any(array(
        select pg_catalog.unnest(mbus4.wakeable(w.iids))
        from (
            select pg_catalog.array_agg(d.iid) as iids
            from {{.Call}}_taken d
            where (select 1 from mbus4.waiting g where g.dep = d.iid order by g.dep, g.consumer_id, g.id limit 1) is not null
        ) w
        where w.iids is not null
    ))
),
