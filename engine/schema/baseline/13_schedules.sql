-- What is posted by the clock.

-- Clients write it by mbus4.schedule and mbus4.unschedule, with the rights of a trigger's choosing; housekeeping posts what is due. next_at null: housekeeping is about to find
-- the first tick after changed; infinity: there is none.
create table mbus4.schedule (
    name       text collate "C" not null primary key,
    cron       text not null,
    timezone   text not null,
    qname      text collate "C" not null,
    data       {{.Hstore}}.hstore,
    headers    {{.Hstore}}.hstore,
    properties {{.Hstore}}.hstore,
    owner      name not null default current_user, -- as whose it may be posted, and whose members may change it
    changed    timestamptz not null default pg_catalog.clock_timestamp(), -- when cron or timezone were given last
    next_at    timestamptz,
    last_at    timestamptz, -- of the last tick that was posted
    missed     bigint not null default 0, -- ticks that were not posted, since changed
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

insert into mbus4.schedule (name, cron, timezone, qname) select n::text, repeat(md5(n::text), 32), '', '' from generate_series(1, 200) n;
delete from mbus4.schedule where timezone = '';

-- A schedule belongs to who made it. Members of that role may change and drop it, those of mbus4_admin may drop it; of one whose role
-- is gone whoever changes it becomes the owner. What is the same as before leaves the next tick where it is, so a program may
-- call mbus4.schedule whenever it starts.
create function mbus4.schedule_owned() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    role name := null;
begin
    if tg_op <> 'INSERT' then
        select r.rolname into role from pg_roles r where r.rolname = old.owner;
        if role is not null and not exists (
            select from pg_roles r
            where (r.rolname = role or tg_op = 'DELETE' and r.rolname = 'mbus4_admin' or r.oid = (select c.relowner from pg_class c where c.oid = tg_relid))
              and pg_has_role(current_user, r.oid, 'member')) then
            raise exception using errcode = '42501', message = format('schedule "%s" belongs to role "%s"', old.name, role),
                hint = format('Take another name, or become a member: grant %I to %I.', role, current_user);
        end if;
    end if;
    if tg_op = 'DELETE' then
        return old;
    end if;
    new.owner := coalesce(role, current_user);
    if tg_op = 'UPDATE' and (new.cron, new.timezone) = (old.cron, old.timezone) then
        return new;
    end if;
    new.changed := clock_timestamp();
    new.next_at := null;
    new.missed := 0;
    new.last_error := null;
    return new;
end
$$;
create trigger schedule_owned before insert or delete or update of name, cron, timezone, qname, data, headers, properties, owner, changed on mbus4.schedule
for each row execute function mbus4.schedule_owned();

create view mbus4.schedules as
select s.name, s.cron, s.timezone, s.qname as queue, s.next_at, s.last_at, s.missed, s.last_error, s.owner
from mbus4.schedule s
offset 0;
