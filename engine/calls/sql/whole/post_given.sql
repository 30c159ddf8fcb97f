-- Posts a message for which headers or an iid are given, and gives its iid. call is the call's mark, for errors; consumers are those who get it, null where
-- their selectors say that; waits says that the message is known
-- to wait for another one. Fails where there is no such queue; to the temporary queue of a session that has ended nobody listens.
--
-- A consumer that has an undelivered message under the iid gets no second one, and where all have one
-- the post fails. One in dmq keeps its headers, seenby among them; the header Redeploy keeps it from being copied along triggers.
-- A message that must wait for another is parked (see schema/baseline/04_ordering.sql); its
-- iid is stored, for its place changes. An expired message that nobody has swept yet does not keep its iid.
--
-- No index has the sum of a consumer's id and zero, so that a message is looked for by its iid. Its statements have one plan each, whatever is in the arrays: the planner would take one made for a single consumer for cheaper, and so plan
-- anew at each call. The cost: see receives in schema/steps.
create or replace function {{.Signature}} returns text language plpgsql volatile cost 1
set plan_cache_mode = force_generic_plan set jit = off
as $mbus4$
#variable_conflict use_column
declare
    mbus4_dmq constant boolean := $2 is not distinct from 'dmq';
    mbus4_headers {{.Hstore}}.hstore := case
        when $8 operator({{.Hstore}}.->) 'seenby'::pg_catalog.text is null then $8 operator({{.Hstore}}.-) 'seenby'::pg_catalog.text
        when $2 = 'dmq' then $8
        else $8 operator({{.Hstore}}.||) {{.Hstore}}.hstore('seenby'::pg_catalog.text, pg_catalog.array_append({{template "header_array" .With "Row" "" "Headers" "$8" "Header" "seenby"}}, pg_catalog.current_database()::pg_catalog.text)::pg_catalog.text)
    end;
    mbus4_wanted constant pg_catalog.text[] := {{template "header_array" .With "Row" "" "Headers" "$8" "Header" "consume_after"}};
    mbus4_redeployed constant boolean := ($8 operator({{.Hstore}}.->) 'Redeploy'::pg_catalog.text)::boolean;
    mbus4_at constant pg_catalog.timestamptz := case when $6 > $4 and not mbus4_dmq then $6 else $4 end;
    mbus4_after pg_catalog.text[];
    mbus4_iid pg_catalog.text := $5;
    mbus4_parked boolean := false;
    mbus4_ids bigint[] := $11;
    mbus4_stored bigint[];
begin
    if pg_catalog.cardinality(mbus4_wanted) > 0 and not mbus4_dmq then
        mbus4_after := mbus4_wanted;
        mbus4_parked := $12 or mbus4.awaits_delivery(mbus4_after);
    end if;
    if mbus4_iid is null and (mbus4_at >= '2200-01-01Z' or pg_catalog.cardinality(mbus4_wanted) > 0) then
        mbus4_iid := $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || $3::pg_catalog.text;
    end if;
    if mbus4_ids is null then
        select pg_catalog.array_agg(c.id) into mbus4_ids
        from mbus4.consumer c
        where c.qname = $2
          and case when c.target is null and c.selector_id is null then true
                   when c.target is null or mbus4_redeployed is not true
                   then mbus4.receives(c, $2, $3, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after, mbus4_parked, null) end;
        if mbus4_ids is null then
            perform case when exists (select from mbus4.consumer c where c.qname = $2 and c.target is null)
                           or exists (select from mbus4.queue q where q.qname = $2) or {{template "temporary" .With "Args" "" "Queue" "$2"}} then 0
                         else {{template "no_queue" .With "Args" "" "Queue" "$2"}} end;
        end if;
    end if;
    if pg_catalog.cardinality(mbus4_ids) > 0 then
        if $5 is null then
            insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after)
            select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after
            from pg_catalog.unnest(mbus4_ids) s (consumer_id);
            mbus4_stored := mbus4_ids;
        else
            delete from mbus4.message m where m.iid = $5 and m.consumer_id + 0 = any(mbus4_ids) and m.expires <= $4 and m.consumer_id <> 1 and {{template "unleased" .With "Row" "m"}};
            with stored as (
                insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after)
                select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after
                from pg_catalog.unnest(mbus4_ids) s (consumer_id)
                where (
                    select 1
                    from mbus4.places_of_iid($5) i
                    join mbus4.message o on o.consumer_id = s.consumer_id and o.available_at = i.available_at and o.id = i.id
                    where i.queue = $2 and o.iid is null
                    for key share of o) is null
                on conflict (iid, consumer_id) where iid is not null do nothing
                returning consumer_id
            )
            select pg_catalog.array_agg(s.consumer_id) into mbus4_stored from stored s;
            if mbus4_stored is null then
                perform pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 23505 a message with iid "%s" is still waiting in queue "%s"', mbus4_iid, $2), 2000)::int;
            end if;
        end if;
        if mbus4_parked then
            insert into mbus4.waiting (dep, consumer_id, id)
            select d.dep, s.consumer_id, $3
            from pg_catalog.unnest(mbus4_after) d (dep)
            cross join pg_catalog.unnest(mbus4_stored) s (consumer_id)
            where d.dep is not null
            on conflict do nothing;
        end if;
    end if;
    return coalesce(mbus4_iid, {{template "iid" .With "Queue" "$2" "At" "mbus4_at" "ID" "$3"}});
end
$mbus4$
