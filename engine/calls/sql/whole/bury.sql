-- Posts a message that was consumed, or removed, for a consumer to dmq, under its iid, so that who waits for it goes on waiting. Where dmq has one
-- under the iid already, that of another consumer, it gets an iid of its own there and says the other in its headers. call is the call's mark.
create or replace function {{.Signature}} returns void language plpgsql volatile
set plan_cache_mode = force_generic_plan set jit = off
as $mbus4$
#variable_conflict use_column
declare
    mbus4_headers {{.Hstore}}.hstore := ($2).headers operator({{.Hstore}}.||) {{.Hstore}}.hstore(array['dmq.added', mbus4.time_text(pg_catalog.clock_timestamp()::timestamp),
        'dmq.error', $4, 'dmq.consumer', $3]);
    mbus4_id bigint;
    mbus4_added timestamptz;
begin
    mbus4_id := {{template "message_id" .With "Queue" "'dmq'" "Once" ""}};
    mbus4_added := pg_catalog.clock_timestamp();
    begin
        perform {{.PostGiven}}($1, 'dmq', mbus4_id, mbus4_added, ($2).iid, ($2).delayed_until, ($2).expires, mbus4_headers, ($2).properties, ($2).data, null, false);
    exception when unique_violation or invalid_text_representation then
        perform {{.PostGiven}}($1, 'dmq', mbus4_id, mbus4_added, null, ($2).delayed_until, ($2).expires,
            mbus4_headers operator({{.Hstore}}.||) {{.Hstore}}.hstore('dmq.iid'::text, ($2).iid), ($2).properties, ($2).data, null, false);
    end;
end
$mbus4$
