-- The addresses of the rows whose turn it is. Limit: how many. From: the first place in the order that a row
-- may have that nobody has claimed yet, or empty, which is where the hint says.
--
-- There are two kinds of rows, each in an index of its own: see schema/baseline/11_work_queue.sql. Of those that come back, the ones before
-- the first of the others go first, and the ones behind it where the others do not suffice, or somebody else has locked them. The ones before are
-- looked for at earlier times and at the same time: a comparison of rows would do for both, but Postgres ends the scan of an index by the first
-- column only, and would read all that come back at that time. A step is not run where the ones before it gave enough, so no row is locked that is
-- not taken.
{{- $fresh := "w.fresh and w.next_attempt_at >= f.low and w.next_attempt_at <= f.now"}}
{{- if .From}}{{$fresh = print "w.fresh and (w.next_attempt_at, w.id) >= " .From " and w.next_attempt_at <= f.now"}}{{end}}
(
    select array(
        select c.tid
        from (
            {{template "claimable_step" .With "Limit" .Limit "Where" "not w.fresh and w.next_attempt_at < f.first_at"}}
            union all
            {{template "claimable_step" .With "Limit" .Limit "Where" "not w.fresh and w.next_attempt_at = f.first_at and w.id < f.first_id"}}
            union all
            {{template "claimable_step" .With "Limit" .Limit "Where" $fresh}}
            union all
            {{template "claimable_step" .With "Limit" .Limit "Where" "not w.fresh and (w.next_attempt_at, w.id) > (f.first_at, f.first_id) and w.next_attempt_at <= f.now"}}
        ) c
        limit {{.Limit}})
    from (
        select f.now{{if not .From}}, f.low{{end}}, coalesce(w.next_attempt_at, f.now) as first_at, coalesce(w.id, 9223372036854775807) as first_id
        from (
            select pg_catalog.clock_timestamp() as now{{if not .From}}, {{template "work_hint" .}} as low{{end}}
            offset 0
        ) f
        left join lateral (
            select w.next_attempt_at, w.id
            from mbus4.work_queue w
            where w.process_id is null and {{$fresh}}
            order by w.next_attempt_at, w.id
            limit 1
        ) w on true
        offset 0
    ) f
)::pg_catalog.tid[]
