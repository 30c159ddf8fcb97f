-- Queues and who gets their messages. A text/template, as all files here: .Hstore is the quoted name of the schema hstore
-- lives in, .Slots are the numbers of the hint sequences. The files run in the order of their names, in one transaction.
-- Whatever columns legacy code reads bear the names that it reads: queue.qname, consumer.qname, consumer.added.

-- The schema itself exists already: it is made, under the same lock, together with the table upgrade_lock. See bootstrap.go.
create table mbus4.schema_version (
    version int not null primary key,
    oldest  int not null, -- the newest version of the oldest program that can still use the database
    applied timestamptz not null default now(),
    program text not null
);

-- What every call that yields messages yields. Timestamps are shown in the session's time zone.
create type mbus4.qt_model as (
    id            bigint,
    added         timestamp,
    iid           text,
    delayed_until timestamp,
    expires       timestamp,
    received      int[],
    headers       {{.Hstore}}.hstore,
    properties    {{.Hstore}}.hstore,
    data          {{.Hstore}}.hstore
);

create table mbus4.queue (
    id            bigint generated always as identity primary key,
    qname         text collate "C" not null unique,
    consumers_cnt int not null,
    kind          text not null default 'plain' check (kind in ('plain', 'dmq', 'temp')),
    created       timestamptz not null default now(),
    -- The session that a temporary queue belongs to: see 08_sessions.sql.
    owner         bigint,
    owner_role    oid,
    owner_started timestamptz,
    paused        timestamptz, -- since when, as a whole: what consumers begin with that are created later
    check ((kind = 'temp') = (owner is not null))
) with (vacuum_truncate = off);

-- The texts of selectors that consumers and triggers use or are about to, and what selector.Compile made of
-- them. Clients read it. A row is made before the statement that refers to it runs; see Selectors.
create table mbus4.selector (
    id         bigint not null primary key, -- the first 8 bytes of the md5 of the text in UTF-8
    text       text not null,
    -- What the message's columns must contain, where that is all that the selector asks; else null.
    headers    {{.Hstore}}.hstore,
    properties {{.Hstore}}.hstore,
    data       {{.Hstore}}.hstore,
    -- SQL over t, a row of mbus4.qt_model: 1 matches, 0 does not, -1 stands for an error.
    condition  text not null,
    can_fail   boolean not null,            -- the condition may be -1
    -- Why the text is no selector any more; then it selects nothing. Such a row was let in when the schema
    -- was upgraded with --disable-bad-selectors.
    refused    text,
    version    int not null,                -- selector.Version that made it
    major      int not null,                -- and the server's for which it was made
    maker      name not null,               -- the login role of the session that asked first
    wanted     timestamptz not null default now() -- when it was last asked for, within a minute
) with (vacuum_truncate = off);
create index selector_wanted on mbus4.selector (wanted);
create index selector_maker on mbus4.selector (maker);

-- qname repeats the name of the queue, and asks_* what the selector's row says, so that posting reads this table only.
--
-- A row with a target is no consumer but a trigger: what is posted to the queue is copied to the target. Its
-- name has capital letters, so no call finds it. The queue may not exist, and then queue_id is null; nor
-- need the target.
--
-- The consumer of dmq is 1. Neither expires nor delayed_until hides its messages: they are there until somebody gets them.
create table mbus4.consumer (
    id              bigint generated always as identity (start with 2) primary key,
    queue_id        bigint references mbus4.queue on delete cascade,
    qname           text collate "C" not null,
    name            text collate "C" not null,
    selector        text,
    added           timestamptz not null default now(),
    selector_id     bigint references mbus4.selector,
    target          text collate "C",
    asks_headers    {{.Hstore}}.hstore,
    asks_properties {{.Hstore}}.hstore,
    asks_data       {{.Hstore}}.hstore,
    -- It takes the selector's condition to decide.
    general         boolean not null
        generated always as (selector_id is not null and asks_headers is null and asks_properties is null and asks_data is null) stored,
    -- The number of its own hint, a sequence as the others; null: it has that of id % 128, which goes on to count it. Housekeeping gives
    -- it out where consumers would share one: see engine/housekeeping/ownhints.go.
    hint            int check (hint between 128 and 4095),
    -- Its policy for leases and retries; null: what part/policy.sql of package calls says.
    max_attempts    int check (max_attempts > 0),
    backoff         interval,
    max_backoff     interval,
    jitter          double precision,
    lease           interval,
    -- Since when it gets nothing; null: it is not paused. Who consumes looks for a paused consumer's messages under an id that no
    -- consumer has: see receiver of package calls.
    paused          timestamptz,
    unique (qname, name),
    check (case when target is null then queue_id is not null else name = 'TRIGGER ' || target end)
) with (vacuum_truncate = off);
create index consumer_queue_id on mbus4.consumer (queue_id);
create index consumer_selector_id on mbus4.consumer (selector_id) where selector_id is not null;

-- What ANALYZE saw says nothing: a queue may have one consumer, or nearly all that there are.
alter table mbus4.consumer
    alter column qname set statistics 0,
    alter column queue_id set statistics 0,
    alter column target set statistics 0;

{{.Check}}

-- Some pages that stay: a plan made while there are few names would read them all, and stay when there are many (see mbus4.message).
alter table mbus4.queue add column filler text; -- the names would fill the indexes, too
insert into mbus4.queue (id, qname, consumers_cnt, filler) overriding system value
select -n, '-' || n, 0, repeat(md5(n::pg_catalog.text), 32) from generate_series(1, 120) n;
delete from mbus4.queue where id < 0;
alter table mbus4.queue drop column filler;
insert into mbus4.consumer (id, qname, name, target, selector) overriding system value
select -n, '-' || n, 'TRIGGER ', '', repeat(md5(n::pg_catalog.text), 32) from generate_series(1, 120) n;
delete from mbus4.consumer where id < 0;
insert into mbus4.selector (id, text, condition, can_fail, version, major, maker)
select -n, '', repeat(md5(n::pg_catalog.text), 32), false, 0, 0, '' from generate_series(1, 120) n;
delete from mbus4.selector where maker = '';

insert into mbus4.queue (qname, consumers_cnt, kind) values ('dmq', 1, 'dmq');
insert into mbus4.consumer (id, queue_id, qname, name) overriding system value
select 1, q.id, q.qname, 'default' from mbus4.queue q where q.qname = 'dmq';
