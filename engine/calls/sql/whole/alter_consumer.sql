-- Sets the policy of a consumer for attempts; what is null stays as it is. call is the call's mark.
create or replace function {{.Signature}} returns void language plpgsql volatile
set plan_cache_mode = force_generic_plan set jit = off
as $mbus4$
#variable_conflict use_column
declare
    mbus4_consumer mbus4.consumer;
begin
    select c.* into mbus4_consumer
    from mbus4.consumer c
    where c.qname = pg_catalog.lower($2 collate "C") and c.name = pg_catalog.lower($3 collate "C")
    for update;
    if not found then
        perform case when exists (select from mbus4.queue q where q.qname = pg_catalog.lower($2 collate "C"))
                     then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 42704 queue "%s" has no consumer %s', $2, coalesce('"' || $3 || '"', 'null')), 2000)
                     else pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000) end::int;
    end if;
    mbus4_consumer.backoff := coalesce($5, mbus4_consumer.backoff);
    mbus4_consumer.max_backoff := coalesce($6, mbus4_consumer.max_backoff);
    perform case
        when $4 not between 1 and 1000000 then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 22023 max_attempts must be between 1 and 1000000, and is %s', $4), 2000)
        when $5 not between interval '0' and interval '365 days' then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 22023 backoff must be between 0 and 365 days, and is %s', $5), 2000)
        when $6 not between interval '0' and interval '365 days' then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 22023 max_backoff must be between 0 and 365 days, and is %s', $6), 2000)
        when {{template "policy" .With "Row" "mbus4_consumer" "What" "backoff"}} > {{template "policy" .With "Row" "mbus4_consumer" "What" "max_backoff"}}
            then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 22023 backoff must not be longer than max_backoff, and is %s to %s', {{template "policy" .With "Row" "mbus4_consumer" "What" "backoff"}},
                {{template "policy" .With "Row" "mbus4_consumer" "What" "max_backoff"}}), 2000)
        when not $7 between 0 and 1 then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 22023 jitter must be between 0 and 1, and is %s', $7), 2000)
        when $8 not between interval '1 millisecond' and interval '365 days' then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 22023 lease must be between 1 ms and 365 days, and is %s', $8), 2000)
    end::int;
    update mbus4.consumer c
    set max_attempts = coalesce($4, c.max_attempts), backoff = mbus4_consumer.backoff, max_backoff = mbus4_consumer.max_backoff,
        jitter = coalesce($7, c.jitter), lease = coalesce($8, c.lease)
    where c.id = mbus4_consumer.id;
end
$mbus4$
