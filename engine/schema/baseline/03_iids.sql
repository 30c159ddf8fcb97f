-- Iids that nobody chose are not stored.

-- Such an iid says where its message stands in the primary key: <queue>.<database>.<n>, where n is
-- the microseconds of available_at since 1970 (16 digits) and then the id. Only what was given by the
-- poster, and what waits for others (its available_at changes), needs a column and an index. A stored
-- one is found by either; see mbus4.undelivered.

-- Where an iid that nobody chose says that its message stands. No backslash: a body is read again in each session, and with
-- standard_conforming_strings off one escapes.
create function mbus4.places_of_iid(iid text, out queue text, out available_at timestamptz, out id bigint) returns setof record
language sql stable parallel safe rows 1
as $$
    select pg_catalog.left(iid, -(pg_catalog.length(n) + 2 + pg_catalog.length(pg_catalog.current_database()))),
           pg_catalog.timestamptz 'epoch' + pg_catalog.left(n, 16)::bigint::pg_catalog.float8 * interval '1 microsecond',
           pg_catalog.substr(n, 17)::bigint
    from pg_catalog.substring(iid, '[.]([1-9][0-9]{15}[1-9][0-9]{0,17})$') n
    where pg_catalog.right(iid, pg_catalog.length(n) + 2 + pg_catalog.length(pg_catalog.current_database()))
        = '.' || pg_catalog.current_database()::pg_catalog.text || '.' || n
$$;

-- Of a message that cannot be delivered yet: whether that is because somebody has a lease on it. What was delayed by who posted it or by
-- retry, and what was woken, is available when it is due; a lease moves the one and not the other. There is no column for
-- leases: see docs/adr/0019-leases.md.
create function mbus4.is_leased(available_at timestamptz, delayed_until timestamptz, headers {{.Hstore}}.hstore) returns boolean
language sql immutable parallel safe
as $$ select $1 is distinct from $2 and coalesce({{.Bound}}.exist($3, 'retry.attempt'), false) $$;

-- The copies of a message that somebody is still to get. What lies in dmq (consumer 1) does not expire, nor does what is leased, which has its iid stored: it is
-- there until the lease ends.
create function mbus4.undelivered(iid text) returns setof mbus4.message
language sql stable parallel safe rows 2
as $$
    select m.*
    from mbus4.message m
    where m.iid = $1
      and (m.expires is null or m.expires > pg_catalog.clock_timestamp() or m.consumer_id = 1
           or m.available_at > pg_catalog.clock_timestamp() and m.available_at < 'infinity' and mbus4.is_leased(m.available_at, m.delayed_until, m.headers))
      and exists (select from mbus4.consumer c where c.id = m.consumer_id)
    union all
    select m.*
    from mbus4.places_of_iid($1) p
    join mbus4.consumer c on c.qname = p.queue
    join mbus4.message m on m.consumer_id = c.id and m.available_at = p.available_at and m.id = p.id
    where m.iid is null and (m.expires is null or m.expires > pg_catalog.clock_timestamp() or m.consumer_id = 1)
$$;

-- Whether one of the messages is still to be delivered to somebody. Its plans stay in the session: the body of a function in SQL that does not become part of
-- the query that asks is parsed and planned each time.
create function mbus4.awaits_delivery(iids text[]) returns boolean
language plpgsql stable parallel safe
as $$
declare
    mbus4_iid pg_catalog.text;
begin
    foreach mbus4_iid in array coalesce($1, '{}') loop
        if exists (select from mbus4.message m
                   where m.iid = mbus4_iid
                     and (m.expires is null or m.expires > pg_catalog.clock_timestamp() or m.consumer_id = 1
                          or m.available_at > pg_catalog.clock_timestamp() and m.available_at < 'infinity' and mbus4.is_leased(m.available_at, m.delayed_until, m.headers))
                     and exists (select from mbus4.consumer c where c.id = m.consumer_id)) then
            return true;
        end if;
        if mbus4_iid ~ '[.][1-9][0-9]{16,33}$' then -- it may say where the message stands; by itself, for what is not reached is not set up
            if exists (
                    select from mbus4.places_of_iid(mbus4_iid) p
                    join mbus4.consumer c on c.qname = p.queue
                    join mbus4.message m on m.consumer_id = c.id and m.available_at = p.available_at and m.id = p.id
                    where m.iid is null and (m.expires is null or m.expires > pg_catalog.clock_timestamp() or m.consumer_id = 1)) then
                return true;
            end if;
        end if;
    end loop;
    return false;
end
$$;

-- The columns of a message that follow from others. The planner puts their text in the place of a call, but
-- only where the column is asked for.
create function mbus4.iid_of(iid text, queue text, available_at timestamptz, id bigint) returns text
language sql stable
as $$
    select coalesce($1, $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || (extract(epoch from $3) * 1000000::numeric)::bigint::pg_catalog.text || $4::pg_catalog.text)
$$;

-- A time as a text, whatever the session's DateStyle is: what ISO makes of it. Where that is the DateStyle, a cast is cheaper. The
-- LIMIT keeps the planner from putting the body in the place of a call, of which there is nearly never one.
create function mbus4.time_text(at timestamp) returns text
language sql stable
as $$
    select pg_catalog.rtrim(pg_catalog.rtrim(pg_catalog.to_char($1, 'YYYY-MM-DD HH24:MI:SS.US'), '0'), '.') limit 1
$$;

-- The headers that follow from the row.
create function mbus4.base_headers(queue text, added timestamptz) returns {{.Hstore}}.hstore
language sql stable
as $$
    select {{.Bound}}.hstore(array['source_db', pg_catalog.current_database()::pg_catalog.text, 'destination_queue', $1,
               'seenby', array[pg_catalog.current_database()::pg_catalog.text]::pg_catalog.text,
               'enqueue_time',
               case when pg_catalog.starts_with(pg_catalog.current_setting('datestyle'), 'ISO') then $2::timestamp::pg_catalog.text else mbus4.time_text($2::timestamp) end])
$$;

-- The queue that the message comes from is its destination; what lies in dmq keeps the one with which it came, if any. See
-- part/origin.sql of package calls.
create function mbus4.headers_of(queue text, added timestamptz, headers {{.Hstore}}.hstore) returns {{.Hstore}}.hstore
language sql stable
as $$
    select mbus4.base_headers($1, $2)
               operator({{.Bound}}.||) coalesce($3, '')
               operator({{.Bound}}.||) case when $1 = 'dmq' and {{.Bound}}.exist($3, 'destination') then ''
                                             else {{.Bound}}.hstore(pg_catalog.array_cat(array['destination', $1], case when pg_catalog.starts_with($1, 'temp.') then array['tempq', $1] end)) end
$$;

-- What selectors see of a message that is posted. headers: as they are stored. The LIMIT as in time_text: to set up these expressions
-- costs a post more than a call does, and most need none.
create function mbus4.posted_row(id bigint, queue text, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers {{.Hstore}}.hstore, properties {{.Hstore}}.hstore, data {{.Hstore}}.hstore)
returns mbus4.qt_model
language sql stable
as $$
    select row($1, $3, $4, coalesce($5, $3), $6, '{}', mbus4.base_headers($2, $3) operator({{.Bound}}.||) coalesce($7, ''), $8, $9)::mbus4.qt_model
    limit 1
$$;
