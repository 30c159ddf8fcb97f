-- The addresses of the rows whose turn it is. Limit: how many. From: the first place in the order that a row
-- may have that nobody has claimed yet, or empty, which is where the hint says.
--
-- There are two kinds of rows, each in an index of its own: see schema/steps/0005_old_snapshots.sql. Of those that come back, the ones before
-- the first of the others go first. Their bound is one comparison of rows, also where there are no others: beside another bound from above,
-- Postgres 18 does not end the scan of the index by a comparison of rows, and reads all rows that are due.
(
    select r.tids || array(
        select w.ctid
        from mbus4.work_queue w
        where w.process_id is null and w.fresh and {{if .From}}(w.next_attempt_at, w.id) >= {{.From}}{{else}}w.next_attempt_at >= r.low{{end}} and w.next_attempt_at <= r.now
        order by w.next_attempt_at, w.id
        limit greatest({{.Limit}} - pg_catalog.cardinality(r.tids), 0)
        for update skip locked)
    from (
        select {{if not .From}}f.low, {{end}}f.now, array(
            select w.ctid
            from mbus4.work_queue w
            where w.process_id is null and not w.fresh and (w.next_attempt_at, w.id) < (f.first_at, f.first_id)
            order by w.next_attempt_at, w.id
            limit {{.Limit}}
            for update skip locked) as tids
        from (
            select n.now, {{if not .From}}n.low, {{end}}coalesce(w.next_attempt_at, n.now) as first_at, coalesce(w.id, 9223372036854775807) as first_id
            from (
                select pg_catalog.clock_timestamp() as now{{if not .From}}, {{template "work_hint" .}} as low{{end}}
                offset 0
            ) n
            left join lateral (
                select w.next_attempt_at, w.id
                from mbus4.work_queue w
                where w.process_id is null and w.fresh and {{if .From}}(w.next_attempt_at, w.id) >= {{.From}}{{else}}w.next_attempt_at >= n.low{{end}} and w.next_attempt_at <= n.now
                order by w.next_attempt_at, w.id
                limit 1
            ) w on true
            offset 0
        ) f
        offset 0
    ) r
)::tid[]
