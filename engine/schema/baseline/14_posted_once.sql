-- What is posted once.

-- The keys of posts, each until its window is over, with the iid of the message; iid null: in the transaction that is posting it. The sweeper removes those that have been over for five seconds: whoever has just found one reads its iid (post_once.sql of package calls).
create table mbus4.unique_post (
    queue text collate "C" not null,
    key   text collate "C" not null,
    until timestamptz not null,
    iid   text collate "C",
    primary key (queue, key)
) with (vacuum_truncate = off);
create index unique_post_until on mbus4.unique_post (until);

-- Some pages that stay make the index the cheapest way from the start, and without statistics it stays so: see baseline/02_messages.sql.
alter table mbus4.unique_post
    alter column queue set statistics 0,
    alter column key set statistics 0,
    alter column until set statistics 0,
    alter column iid set statistics 0;
insert into mbus4.unique_post (queue, key, until) select '', repeat(md5(n::pg_catalog.text), 32), '-infinity' from generate_series(1, 200) n;
delete from mbus4.unique_post where queue = '';
