-- Takes messages back to dmq as they were, those of a batch of what operation $1 undoes, and gives how many there were and how many it took. It takes one whose
-- copies are all there as put_back.sql has made them: nobody has one or has had one.
with put as materialized (
    select l.*
    from unnest(mbus4.operation_unlog($1)) with ordinality l (iid, id, consumers, added, delayed_until, headers, n)
), copies as materialized (
    select l.n, m.*
    from put l
    cross join unnest(l.consumers) c (id)
    cross join lateral (
        select m.ctid as place, m.expires, m.headers, m.properties, m.data
        from mbus4.message m
        where m.iid = l.iid and m.consumer_id + 0 = c.id and m.id + 0 = l.id -- the sums keep the primary key out of it
          and not mbus4.is_leased(m.available_at, m.delayed_until, m.headers) and coalesce(mbus4_hstore.exist(m.headers, 'retry.attempt'), false) = false
        for update skip locked
    ) m
), counted as materialized (
    select c.*, count(*) over (partition by c.n) as copies, row_number() over (partition by c.n) as nth from copies c
), whole as materialized (
    select l.n, l.iid, l.added, l.delayed_until, c.expires, c.properties, c.data, coalesce(c.headers, '') operator(mbus4_hstore.||) coalesce(l.headers, '') as headers
    from put l
    join counted c on c.n = l.n
    where c.nth = 1 and c.copies = cardinality(l.consumers)
), gone as (
    delete from mbus4.message m where m.ctid = any(array(select c.place from copies c join whole w on w.n = c.n))
), drawn as materialized (
    select w.*, case when pg_try_advisory_xact_lock_shared(1835169140, hashtext('dmq') & 63) then nextval('mbus4.post_id')
                     when nextval('mbus4.message_id') > 0 then nextval('mbus4.post_id') end as new
    from whole w
    order by w.n
), timed as materialized (
    select d.*, case when d.new > 0 then clock_timestamp() end as now from drawn d
), first as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data)
    select t.new, 1, t.now, t.added, case when not mbus4_hstore.exist(t.headers, 'dmq.iid') then t.iid end, t.delayed_until, t.expires, t.headers, t.properties, t.data
    from timed t
    on conflict (iid, consumer_id) where iid is not null do nothing
    returning id
), again as ( -- another consumer's has died under the iid meanwhile
    insert into mbus4.message (id, consumer_id, available_at, added, delayed_until, expires, headers, properties, data)
    select t.new, 1, t.now, t.added, t.delayed_until, t.expires, t.headers operator(mbus4_hstore.||) mbus4_hstore.hstore('dmq.iid'::pg_catalog.text, t.iid), t.properties, t.data
    from timed t
    where t.new <> all(array(select f.id from first f))
)
select (select count(*) from put), (select count(*) from whole)
