-- Says who gets a message that is being posted to a queue, where that is not all of its consumers; it also copies the message along the
-- queue's triggers. Fails where there is no such queue; to the temporary queue of a session that has ended nobody listens. call is the
-- call's mark, for errors; iid, headers and after are as they are stored, iid null for one that nobody chose. In PL/pgSQL, for its plans
-- stay in the session.
--
-- One query evaluates all conditions of the queue's selectors, each once: they cannot fail, and -1 stands for an error, which is counted.
create or replace function {{.Signature}} returns bigint[] language plpgsql volatile
set plan_cache_mode = force_generic_plan set jit = off
as $mbus4$
#variable_conflict use_column
declare
    mbus4_ids bigint[];
    mbus4_more bigint[];
    mbus4_plain boolean;
    mbus4_general bigint[];
    mbus4_routed boolean;
    mbus4_message mbus4.qt_model;
    mbus4_text text;
    mbus4_said int[];
begin
    select pg_catalog.array_agg(c.id) filter (where c.target is null and c.selector_id is null), pg_catalog.bool_and(c.selector_id is null),
           pg_catalog.array_agg(c.selector_id) filter (where c.target is null and c.general), pg_catalog.bool_or(c.target is not null)
    into mbus4_ids, mbus4_plain, mbus4_general, mbus4_routed
    from mbus4.consumer c
    where c.qname = $2;
    if mbus4_ids is null then
        perform case when exists (select from mbus4.queue q where q.qname = $2) or {{template "temporary" .With "Args" "" "Queue" "$2"}} then 0
                     else {{template "no_queue" .With "Args" "" "Queue" "$2"}} end;
    end if;
    mbus4_routed := mbus4_routed and $12;
    if mbus4_plain is null or mbus4_plain and not mbus4_routed then
        return mbus4_ids;
    end if;
    mbus4_message := row($3, $4::timestamp,
        coalesce($5, $2 || '.' || pg_catalog.current_database() || '.' || ({{template "place" .With "At" "(case when $6 > $4 and $2 <> 'dmq' then $6 else $4 end)" "ID" "$3"}})),
        coalesce($6, $4)::timestamp, $7::timestamp, '{}', mbus4.base_headers($2, $4) operator({{.Hstore}}.||) coalesce($8, ''), $9, $10);
    if not mbus4_plain then
        select pg_catalog.array_agg(c.id) into mbus4_more
        from mbus4.consumer c
        where c.qname = $2 and c.target is null and c.selector_id is not null and not c.general
          and (c.asks_headers is null or mbus4_message.headers operator({{.Hstore}}.@>) c.asks_headers)
          and (c.asks_properties is null or $9 operator({{.Hstore}}.@>) c.asks_properties)
          and (c.asks_data is null or $10 operator({{.Hstore}}.@>) c.asks_data);
        mbus4_ids := pg_catalog.array_cat(mbus4_ids, mbus4_more);
    end if;
    if mbus4_general is not null then
        select pg_catalog.array_agg(s.id order by s.id), pg_catalog.string_agg('(' || s.condition || ')', ', ' order by s.id)
        into mbus4_general, mbus4_text
        from mbus4.selector s
        where s.id = any(mbus4_general);
        execute 'select array[' || mbus4_text || ']::pg_catalog.int4[] from (select ($1).id, ($1).added, ($1).iid, ($1).delayed_until,' ||
            ' ($1).expires, ($1).received, ($1).headers, ($1).properties, ($1).data offset 0) t' into mbus4_said using mbus4_message;
        select pg_catalog.array_agg(c.id) into mbus4_more
        from mbus4.consumer c
        where c.qname = $2 and c.target is null and c.general
          and case mbus4_said[pg_catalog.array_position(mbus4_general, c.selector_id)]
              when 1 then true when -1 then mbus4.count_selector_error(c.id, $3) < 0 end;
        mbus4_ids := pg_catalog.array_cat(mbus4_ids, mbus4_more);
    end if;
    if mbus4_routed then
        perform mbus4.copy_along_triggers($2, mbus4_message, $8, $6, $7, $11);
    end if;
    return mbus4_ids;
end
$mbus4$
