-- Posts a message in whatever way it takes, and gives its iid: one under an iid that may be taken, and one to a queue of which the calling statement sees no
-- consumer. Its headers are as they are stored. call is the call's mark, for errors; waits says that the message is known
-- to wait for another one. Fails where there is no such queue; to the temporary queue of a session that has ended nobody listens.
--
-- A consumer that has an undelivered message under the iid gets no second one, and where all have one
-- the post fails. One in dmq keeps its headers, seenby among them; the header Redeploy keeps it from being copied along triggers.
-- A message that must wait for another is parked (see schema/baseline/04_ordering.sql); its
-- iid is stored, for its place changes. An expired message that nobody has swept yet does not keep its iid.
--
-- No index has the sum of a consumer's id and zero, so that a message is looked for by its iid.
create or replace function {{.Signature}} returns text language sql volatile cost 1
set jit = off set enable_seqscan = off
as $mbus4$
    with given as materialized (
        select ($8 operator({{.Hstore}}.->) 'Redeploy'::pg_catalog.text)::boolean is true as redeployed,
               case when $6 > $4 and $2 <> 'dmq' then $6 else $4 end as at,
               nullif({{template "header_array" .With "Row" "" "Headers" "$8" "Header" "consume_after"}}, '{}') as wanted
    ), posted as materialized (
        select g.redeployed, g.at, w.after,
               coalesce($5, case when g.at >= '2200-01-01Z' or g.wanted is not null then $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || $3::pg_catalog.text end) as iid,
               case when w.after is not null then $11 or mbus4.awaits_delivery(w.after) else false end as parked
        from given g
        cross join lateral (select case when $2 <> 'dmq' then g.wanted end as after offset 0) w
    ), recipient as materialized (
        select c.id as consumer_id
        from posted p
        join mbus4.consumer c on c.qname = $2
        where (c.target is null or not p.redeployed)
          and mbus4.receives($1, c, $2, $3, $4, p.iid, $6, $7, $8, $9, $10, p.after, p.parked, null)
    ), removed as (
        delete from mbus4.message m
        where m.iid = $5 and m.consumer_id + 0 = any(array(select r.consumer_id from recipient r)) and m.expires <= $4 and m.consumer_id <> 1 and {{template "unleased" .With "Row" "m"}}
        returning 1
    ), stored as (
        insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after)
        select $3, r.consumer_id, case when p.parked then 'infinity' else p.at end, $4, p.iid, $6, $7, $8, $9, $10, p.after
        from posted p
        cross join recipient r
        where (select pg_catalog.count(*) from removed) >= 0
          and (
            select 1
            from mbus4.places_of_iid($5) i
            join mbus4.message o on o.consumer_id = r.consumer_id and o.available_at = i.available_at and o.id = i.id
            where i.queue = $2 and o.iid is null
            for key share of o) is null
        on conflict (iid, consumer_id) where iid is not null do nothing
        returning consumer_id
    ), waits as (
        insert into mbus4.waiting (dep, consumer_id, id)
        select d.dep, s.consumer_id, $3
        from posted p
        cross join stored s
        cross join pg_catalog.unnest(p.after) d (dep)
        where p.parked and d.dep is not null
        on conflict do nothing
    )
    select coalesce(
               case when exists (select from recipient) then
                        case when exists (select from stored) then null
                             else pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 23505 a message with iid "%s" is still waiting in queue "%s"', p.iid, $2), 2000)::int end
                    when exists (select from mbus4.consumer c where c.qname = $2 and c.target is null)
                      or exists (select from mbus4.queue q where q.qname = $2) or {{template "temporary" .With "Args" "" "Queue" "$2"}} then null
                    else {{template "no_queue" .With "Args" "" "Queue" "$2"}} end::pg_catalog.text,
               p.iid, {{template "iid" .With "Queue" "$2" "At" "p.at" "ID" "$3"}})
    from posted p
$mbus4$
