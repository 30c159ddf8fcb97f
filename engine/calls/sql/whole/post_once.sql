-- Posts a message unless one was posted to its queue with its key within the window of that, and gives the iid of whichever it is. call is the call's mark. Without a key it posts.
--
-- Who comes while another transaction has the key waits for its end: the insert does. Then either its iid is there, in the snapshot of the next statement, or the
-- key is free. A key whose window is over is taken over.
create or replace function {{.Signature}} returns text language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $mbus4$
#variable_conflict use_column
declare
    mbus4_queue constant text := pg_catalog.lower($2 collate "C");
    mbus4_iid text;
begin
    if $9 is null or $2 is null then
        return {{.PostFull}}($2, $3, $4, $5, $6, $7, $8, $1);
    end if;
    perform case when pg_catalog.octet_length($9) not between 1 and 1000 then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 22023 the unique_key of a message has 1 to 1000 bytes, not %s', pg_catalog.octet_length($9)), 2000)::int
                 when $10 is null then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 22004 unique_for must not be null where there is a unique_key%s', pg_catalog.left($9, 0)), 2000)::int
                 when $10 <= '0' or not pg_catalog.isfinite($10) or $10 > '100 years' then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 22023 unique_for must be positive and at most 100 years, and is %s', $10), 2000)::int end;
    loop
        select u.iid into mbus4_iid
        from mbus4.unique_post u
        where u.queue = mbus4_queue and u.key = $9 and u.until > pg_catalog.clock_timestamp();
        if mbus4_iid is not null then
            return mbus4_iid;
        end if;
        insert into mbus4.unique_post as u (queue, key, until)
        values (mbus4_queue, $9, pg_catalog.clock_timestamp() + $10)
        on conflict (queue, key) do update set until = excluded.until, iid = null where u.until <= pg_catalog.clock_timestamp();
        if found then
            mbus4_iid := {{.PostFull}}($2, $3, $4, $5, $6, $7, $8, $1);
            update mbus4.unique_post u set iid = mbus4_iid where u.queue = mbus4_queue and u.key = $9;
            return mbus4_iid;
        end if;
    end loop;
end
$mbus4$
