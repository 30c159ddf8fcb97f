-- Iids that nobody chose are not stored. A text/template as the others.

-- Such an iid says where its message stands in the primary key: <queue>.<database>.<n>, where n is
-- the microseconds of available_at since 1970 (16 digits) and then the id. Only what was given by the
-- poster, and what waits for others (its available_at changes), needs a column and an index. A stored
-- one is found by either; see mbus4.undelivered.
alter table mbus4.message alter column iid drop not null;
alter table mbus4.message drop constraint message_iid_consumer_id_key;
create unique index message_iid on mbus4.message (iid, consumer_id) where iid is not null;

-- Where the message of an iid that is not stored would be, wherever its queue has a consumer.
create function mbus4.place_of_iid(iid text, out queue text, out available_at timestamptz, out id bigint)
language sql stable parallel safe
as $$
    select pg_catalog.left(iid, -(pg_catalog.length(n) + 2 + pg_catalog.length(pg_catalog.current_database()))),
           timestamptz 'epoch' + pg_catalog.left(n, 16)::bigint * interval '1 microsecond',
           pg_catalog.substr(n, 17)::bigint
    from pg_catalog.substring(iid, '\.([1-9][0-9]{15}[1-9][0-9]{0,17})$') n
    where pg_catalog.right(iid, pg_catalog.length(n) + 2 + pg_catalog.length(pg_catalog.current_database()))
        = '.' || pg_catalog.current_database() || '.' || n
$$;

-- The copies of a message that somebody is still to get.
create function mbus4.undelivered(iid text) returns setof mbus4.message
language sql stable parallel safe rows 2
as $$
    select m.*
    from mbus4.message m
    where m.iid = $1
      and (m.expires is null or m.expires > pg_catalog.clock_timestamp())
      and exists (select from mbus4.consumer c where c.id = m.consumer_id)
    union all
    select m.*
    from mbus4.place_of_iid($1) p
    join mbus4.consumer c on c.queue = p.queue
    join mbus4.message m on m.consumer_id = c.id and m.available_at = p.available_at and m.id = p.id
    where m.iid is null and (m.expires is null or m.expires > pg_catalog.clock_timestamp())
$$;

-- Whether one of the messages is still to be delivered to somebody.
create function mbus4.any_undelivered(iids text[]) returns boolean
language sql stable parallel safe
as $$ select exists (select from pg_catalog.unnest($1) i (iid) cross join lateral mbus4.undelivered(i.iid)) $$;

create or replace view mbus4.waiting_in_circle as
with recursive edge as (
    select distinct m.iid, dep
    from mbus4.message m
    cross join lateral unnest(m.after) dep
    where m.after is not null and mbus4.any_undelivered(array[dep])
), way (iid, at, path) as (
    select e.iid, e.dep, array[e.iid, e.dep]
    from edge e
    union all
    select w.iid, e.dep, w.path || e.dep
    from way w
    join edge e on e.iid = w.at
    where w.at <> w.iid and not e.dep = any (w.path[2:])
)
select distinct on (w.iid) w.iid, w.path
from way w
where w.at = w.iid
order by w.iid, cardinality(w.path);
