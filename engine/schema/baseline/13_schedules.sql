-- What is posted by the clock.

-- Clients write it by mbus4.schedule and mbus4.unschedule; housekeeping posts what is due. next_at null: housekeeping is about to find the first tick, for the
-- schedule is new or has another plan; infinity: there is none. What is the same as before leaves the next tick where it is, so a program may call
-- mbus4.schedule whenever it starts.
create table mbus4.schedule (
    name       text collate "C" not null primary key,
    cron       text not null,
    timezone   text not null,
    qname      text collate "C" not null,
    data       {{.Hstore}}.hstore,
    headers    {{.Hstore}}.hstore,
    properties {{.Hstore}}.hstore,
    owner      name not null default current_user, -- as whose it may be posted, and whose members may change it
    changed    timestamptz not null default pg_catalog.clock_timestamp(), -- when the plan was first seen, or the schedule was made
    planned    bigint, -- for which cron and timezone housekeeping has found tick; of longer texts than a schedule may have so much is hashed as refuses them
    tick       timestamptz,
    next_at    timestamptz generated always as (case when planned = hashtextextended(left(cron, 300) || ' ' || left(timezone, 100), 0) then tick end) stored,
    last_at    timestamptz, -- of the last tick that was posted
    missed     bigint not null default 0, -- ticks that were not posted, of this plan
    last_error text -- of the last tick; null: it was posted
) with (vacuum_truncate = off);
create index schedule_next on mbus4.schedule (next_at nulls first);
create index schedule_turn on mbus4.schedule (owner, (coalesce(next_at, '-infinity'))); -- owners take turns

-- Some pages that stay make the index the cheapest way from the start, and without statistics it stays so: see baseline/02_messages.sql.
alter table mbus4.schedule
    alter column name set statistics 0,
    alter column owner set statistics 0,
    alter column next_at set statistics 0;

{{.Check}}

insert into mbus4.schedule (name, cron, timezone, qname) select n::pg_catalog.text, repeat(md5(n::pg_catalog.text), 32), '', '' from generate_series(1, 200) n;
delete from mbus4.schedule where timezone = '';

-- A schedule belongs to who made it. Members of that role may change and drop it, those of mbus4_admin may drop it, and anybody one whose role is gone. Who
-- may update whole rows is housekeeping, where the admin role is not the owner.
alter table mbus4.schedule enable row level security;
create policy schedule_seen on mbus4.schedule for select using (true);
create policy schedule_made on mbus4.schedule for insert with check (owner = current_user);
create policy schedule_changed on mbus4.schedule for update using (
    exists (select from pg_catalog.pg_roles r where r.rolname = owner and pg_catalog.pg_has_role(r.oid, 'member'))
    or pg_catalog.has_table_privilege(tableoid, 'update'));
create policy schedule_dropped on mbus4.schedule for delete using (
    exists (select from pg_catalog.pg_roles r where r.rolname in (owner, 'mbus4_admin') and pg_catalog.pg_has_role(r.oid, 'member'))
    or not exists (select from pg_catalog.pg_roles r where r.rolname = owner));

create view mbus4.schedules as
select s.name, s.cron, s.timezone, s.qname as queue, s.next_at, s.last_at,
       case when s.next_at is null then 0 else s.missed end as missed, case when s.next_at is not null then s.last_error end as last_error, s.owner
from mbus4.schedule s
offset 0;
