-- Messages that wait for others (consume_after). A text/template as the others.

-- The iids the message is delivered after. Checked when it is delivered. A message of dmq has none:
-- consuming from there ignores the order.
alter table mbus4.message add column after text[] collate "C";
alter table mbus4.message alter column after set statistics 0;

-- While one of them is there, the message is parked: its available_at is infinity, which keeps it out
-- of the range that consuming scans. One row here for each message and iid says whom to wake when the
-- iid is gone. A row without a parked message means nothing; the Releaser removes it.
create table mbus4.waiting (
    dep         text collate "C" not null,
    consumer_id int not null,
    id          bigint not null, -- of the message that waits
    primary key (dep, consumer_id, id)
) with (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on,
    vacuum_truncate = off
);
alter table mbus4.waiting
    alter column dep set statistics 0,
    alter column consumer_id set statistics 0,
    alter column id set statistics 0;

-- Some pages that stay, as for mbus4.message.
insert into mbus4.waiting (dep, consumer_id, id) select repeat(md5(n::text), 20), 0, -n from generate_series(1, 400) n;
delete from mbus4.waiting;

-- Messages that wait for one another, and so forever: each row is one of them, with the way by which
-- it comes back to itself. Only iids generated beforehand make that possible. take() any of them.
create view mbus4.waiting_in_circle as
with recursive edge as (
    select distinct m.iid, dep
    from mbus4.message m
    cross join lateral unnest(m.after) dep
    where m.after is not null and exists (select from mbus4.message d where d.iid = dep)
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
