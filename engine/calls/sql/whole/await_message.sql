-- As await.sql, for a call that waits for one message: '' where it can be delivered to each consumer that still has it, or to the one that is named, and
-- nobody holds it. Then all of its rows are locked, else none. A call itself asks again when it runs (part/free.sql), for it takes nothing that it would have to wait for.
create or replace function {{.Signature}} returns text language plpgsql volatile
set plan_cache_mode = force_generic_plan set jit = off
as $mbus4$
#variable_conflict use_column
declare
    mbus4_id bigint;
    mbus4_rows tid[];
    mbus4_ready boolean;
begin
    if $2 is not null then
        select {{template "consumer" .With "Args" "a" "ID" "c.id"}} into mbus4_id
        from (select $2 as qname, $3 as cname offset 0) a
        left join lateral (
            select * from mbus4.consumer c where c.qname = pg_catalog.lower(a.qname collate "C") and c.name = pg_catalog.lower(a.cname collate "C") offset 0
        ) c on true;
    end if;
    if $5 is null then
        return '';
    end if;
    select pg_catalog.array_agg(x.place), pg_catalog.bool_and(x.ready) into mbus4_rows, mbus4_ready
    from (
        select m.ctid as place, {{template "takeable" .With "Row" "m"}} as ready
        from mbus4.message m
        where m.iid = $4 and (mbus4_id is null or m.consumer_id = mbus4_id) and {{template "unexpired" .With "Row" "m"}}
        union all
        select m.ctid, {{template "takeable" .With "Row" "m"}}
        from mbus4.places_of_iid($4) p
        cross join lateral (
            select m.ctid, m.*
            from mbus4.message m
            where m.consumer_id = any(array(select c.id from mbus4.consumer c where c.qname = p.queue)) and m.available_at = p.available_at and m.id = p.id
              and m.iid is null and (mbus4_id is null or m.consumer_id = mbus4_id) and {{template "unexpired" .With "Row" "m"}}
            offset 0
        ) m
    ) x;
    if mbus4_ready then
        begin
            select pg_catalog.count(*) = pg_catalog.cardinality(mbus4_rows) and pg_catalog.bool_and(x.ready) into mbus4_ready
            from (select {{template "takeable" .With "Row" "m"}} as ready from mbus4.message m where m.ctid = any(mbus4_rows) for update nowait) x;
            if mbus4_ready then
                return '';
            end if;
            raise exception using errcode = '55P03';
        exception when lock_not_available then
            -- What it has locked is free again.
            null;
        end;
    end if;
    return pg_catalog.concat_ws(' ', pg_catalog.date_part('epoch', $5) * 1000000,
        pg_catalog.date_part('epoch', pg_catalog.current_setting('statement_timeout')::interval) * 1000,
        pg_catalog.date_part('epoch', pg_catalog.current_setting('idle_in_transaction_session_timeout')::interval) * 1000,
        pg_catalog.date_part('epoch', pg_catalog.current_setting('idle_session_timeout')::interval) * 1000,
        pg_catalog.replace(pg_catalog.current_setting('transaction_isolation'), ' ', '_'));
end
$mbus4$
