-- Messages, and the hints where to start looking.

-- The ids of messages are drawn from post_id. Who draws one for a queue takes first the advisory lock (1835169140, hashtext(queue) & 63),
-- shared, for the rest of its transaction; who cannot get it draws from message_id first, whose lock stands for all queues. What is drawn from
-- there lies far from the ids of messages: these must differ where times are equal. See engine/housekeeping/posters.go.
create sequence mbus4.post_id as bigint;
create sequence mbus4.message_id as bigint start 1000000000000001;

-- One row per message and consumer that is to get it. Rows are inserted and deleted, never updated.
-- No foreign key: a post must not lock the row of its consumer. What a dropped consumer leaves
-- behind is the sweeper's.
create table mbus4.message (
    id            bigint not null,
    consumer_id   bigint not null,
    available_at  timestamptz not null, -- when it may be delivered; at least the time of posting, in dmq just that
    added         timestamptz not null,
    iid           text collate "C", -- null: nobody chose it, see 03_iids.sql
    delayed_until timestamptz,
    expires       timestamptz,
    received      int[],
    headers       {{.Hstore}}.hstore,
    properties    {{.Hstore}}.hstore,
    data          {{.Hstore}}.hstore,
    -- The iids the message is delivered after. Checked when it is delivered. A message of dmq has none:
    -- consuming from there ignores the order.
    after         text[] collate "C",
    primary key (consumer_id, available_at, id),
    -- Who posts what is no JSON gets the error, and none of those who read it.
    check (jsonb_typeof((headers operator({{.Bound}}.->) 'json.payload'::pg_catalog.text)::pg_catalog.jsonb) <> '')
) with (
    fillfactor = 100,
    -- Vacuum whenever it looks, at full speed, indexes always, whatever the size of the backlog.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    -- But not for what was only posted: it will be consumed.
    autovacuum_vacuum_insert_threshold = -1,
    autovacuum_analyze_scale_factor = 0.2,
    autovacuum_analyze_threshold = 10000,
    autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on,
    -- Giving pages back would lock consumers out, and the queue needs them again at once.
    vacuum_truncate = off,
    toast.autovacuum_vacuum_scale_factor = 0,
    toast.autovacuum_vacuum_threshold = 1000,
    toast.autovacuum_vacuum_cost_delay = 0,
    toast.vacuum_truncate = off
);
create index message_expires on mbus4.message (expires) where expires is not null and consumer_id <> 1; -- not in dmq
create unique index message_iid on mbus4.message (iid, consumer_id) where iid is not null;
create index message_after on mbus4.message (id) where after is not null;

-- A queue's size changes faster than statistics do: whatever ANALYZE saw (an empty table, one queue
-- with a million messages) is wrong a minute later. Without column statistics the planner takes its
-- defaults, under which a range of the primary key is always the cheapest way in.
alter table mbus4.message
    alter column id set statistics 0,
    alter column consumer_id set statistics 0,
    alter column available_at set statistics 0,
    alter column added set statistics 0,
    alter column delayed_until set statistics 0,
    alter column expires set statistics 0,
    alter column received set statistics 0,
    alter column headers set statistics 0,
    alter column properties set statistics 0,
    alter column data set statistics 0,
    alter column after set statistics 0;
alter table mbus4.message
    alter column iid set (n_distinct = -1);

-- hint_<consumer.id % 128>: microseconds since 1970 below which no message of these consumers is
-- live. A sequence is a cell that neither transactions nor bloat touch. See Hinter.
{{- range .Slots}}
create sequence mbus4.hint_{{.}} as bigint minvalue 0 start 0;
{{- end}}

{{.Check}}

-- A plan made while the table is tiny reads all of it, and a prepared statement may keep such a plan
-- after a backlog has come. Some pages that stay make the index the cheapest way from the start.
insert into mbus4.message (id, consumer_id, available_at, added, iid, data)
select -n, 0, '-infinity', now(), n::pg_catalog.text, {{.Bound}}.hstore('', repeat(md5(n::pg_catalog.text), 32))
from generate_series(1, 400) n;
delete from mbus4.message;
