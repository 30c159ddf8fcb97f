-- Sets the policy of a consumer for attempts; what is null stays as it is. call is the call's mark. The row is locked before its policy is looked at.
create or replace function {{.Signature}} returns bigint language sql volatile
as $mbus4$
    with old as materialized (
        select c.id, coalesce($5, c.backoff) as backoff, coalesce($6, c.max_backoff) as max_backoff
        from mbus4.consumer c
        where c.qname = pg_catalog.lower($2 collate "C") and c.name = pg_catalog.lower($3 collate "C")
        for update
    ), wrong as materialized (
        select case
            when p.id is null and exists (select from mbus4.queue q where q.qname = pg_catalog.lower($2 collate "C"))
                then pg_catalog.format('mbus4-error {{.MarkOf ""}} 42704 queue "%s" has no consumer %s', $2, coalesce('"' || $3 || '"', 'null'))
            when p.id is null then pg_catalog.format('mbus4-error {{.MarkOf ""}} 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null'))
            when $4 not between 1 and 1000000 then pg_catalog.format('mbus4-error {{.MarkOf ""}} 22023 max_attempts must be between 1 and 1000000, and is %s', $4)
            when $5 not between interval '0' and interval '365 days' then pg_catalog.format('mbus4-error {{.MarkOf ""}} 22023 backoff must be between 0 and 365 days, and is %s', $5)
            when $6 not between interval '0' and interval '365 days' then pg_catalog.format('mbus4-error {{.MarkOf ""}} 22023 max_backoff must be between 0 and 365 days, and is %s', $6)
            when {{template "policy" .With "Row" "p" "What" "backoff"}} > {{template "policy" .With "Row" "p" "What" "max_backoff"}}
                then pg_catalog.format('mbus4-error {{.MarkOf ""}} 22023 backoff must not be longer than max_backoff, and is %s to %s', {{template "policy" .With "Row" "p" "What" "backoff"}},
                    {{template "policy" .With "Row" "p" "What" "max_backoff"}})
            when not $7 between 0::pg_catalog.float8 and 1::pg_catalog.float8 then pg_catalog.format('mbus4-error {{.MarkOf ""}} 22023 jitter must be between 0 and 1, and is %s', $7)
            when $8 not between interval '1 millisecond' and interval '365 days' then pg_catalog.format('mbus4-error {{.MarkOf ""}} 22023 lease must be between 1 ms and 365 days, and is %s', $8)
        end as what
        from (select) one
        left join old p on true
    ), changed as (
        update mbus4.consumer c
        set max_attempts = coalesce($4, c.max_attempts), backoff = o.backoff, max_backoff = o.max_backoff, jitter = coalesce($7, c.jitter), lease = coalesce($8, c.lease)
        from (select case when w.what is null then o.id else pg_catalog.left(w.what, 2000)::int end as id, o.backoff, o.max_backoff
              from wrong w left join old o on true offset 0) o
        where c.id = o.id
        returning 1
    )
    select pg_catalog.count(*) from changed
$mbus4$
