-- Posts a message unless one was posted to its queue with its key within the window of that, and gives the iid of whichever it is. call is the call's mark. Without a key it posts.
--
-- Who comes while another transaction has the key waits for its end: the insert does. Then either the key is free, and this call has taken it, or its iid is
-- there for the statement that follows, which sees what was committed before it. A key whose window is over is taken over. Only a key that has no iid yet is this
-- call's own; one that was there stays for longer than its window (engine/housekeeping/sweeper.go), so it is still there at the end.
create or replace function {{.Signature}} returns text language sql volatile
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $mbus4$
    insert into mbus4.unique_post as u (queue, key, until)
    select pg_catalog.lower($2 collate "C"), $9, pg_catalog.clock_timestamp() + $10
    where case
            when $9 is null or $2 is null then 0
            when pg_catalog.octet_length($9) not between 1 and 1000 then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 22023 the unique_key of a message has 1 to 1000 bytes, not %s', pg_catalog.octet_length($9)), 2000)::int
            when $10 is null then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 22004 unique_for must not be null where there is a unique_key%s', pg_catalog.left($9, 0)), 2000)::int
            when $10 <= '0' or not pg_catalog.isfinite($10) or $10 > '100 years' then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 22023 unique_for must be positive and at most 100 years, and is %s', $10), 2000)::int
            else 1 end = 1
    on conflict (queue, key) do update set until = excluded.until, iid = null where u.until <= pg_catalog.clock_timestamp();

    with posted as (
        update mbus4.unique_post u
        set iid = {{.PostFull}}($2, $3, $4, $5, $6, $7, $8, $1)
        where u.queue = pg_catalog.lower($2 collate "C") and u.key = $9 and u.iid is null
        returning u.iid
    )
    select case when $9 is null or $2 is null then {{.PostFull}}($2, $3, $4, $5, $6, $7, $8, $1)
                else coalesce((select p.iid from posted p),
                              (select u.iid from mbus4.unique_post u where u.queue = pg_catalog.lower($2 collate "C") and u.key = $9)) end
$mbus4$
