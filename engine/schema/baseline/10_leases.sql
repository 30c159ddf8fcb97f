-- Leases and retries, and messages in JSON.

-- A message as consume_json and peek_json yield it.
create type mbus4.json_message as (
    id            bigint,
    added         timestamp,
    iid           text,
    delayed_until timestamp,
    expires       timestamp,
    received      int[],
    headers       {{.Hstore}}.hstore,
    properties    {{.Hstore}}.hstore,
    data          {{.Hstore}}.hstore,
    payload       jsonb
);

-- What lease yields: a message, and its lease.
create type mbus4.leased as (
    id            bigint,
    added         timestamp,
    iid           text,
    delayed_until timestamp,
    expires       timestamp,
    received      int[],
    headers       {{.Hstore}}.hstore,
    properties    {{.Hstore}}.hstore,
    data          {{.Hstore}}.hstore,
    payload       jsonb,
    attempt       integer,
    lease         text,
    leased_until  timestamptz
);

-- What retry takes: a lease, or a message as others see it.
create type mbus4.retry_target as (lease text, message mbus4.qt_model);

-- Which of the two the first argument of retry is, the server decides.
create function mbus4.to_retry(lease text) returns mbus4.retry_target
language sql immutable parallel safe
as $$ select row($1, null)::mbus4.retry_target $$;

create function mbus4.to_retry(message mbus4.qt_model) returns mbus4.retry_target
language sql immutable parallel safe
as $$ select row(null, $1)::mbus4.retry_target $$;

-- retry takes what consume_json gives, too.
create function mbus4.to_retry(message mbus4.json_message) returns mbus4.retry_target
language sql immutable parallel safe
as $$ select row(null, row($1.id, $1.added, $1.iid, $1.delayed_until, $1.expires, $1.received, $1.headers, $1.properties, $1.data)::mbus4.qt_model)::mbus4.retry_target $$;

-- What is posted as a payload stands in the header json.payload, and its keys in data. A header and no column, as for attempts: see
-- docs/adr/0019-leases.md.

-- What a message with these headers and this data holds as JSON.
create function mbus4.payload(headers {{.Hstore}}.hstore, data {{.Hstore}}.hstore) returns jsonb
language sql immutable parallel safe
as $$ select coalesce(($1 operator({{.Bound}}.->) 'json.payload'::pg_catalog.text)::pg_catalog.jsonb, {{.Bound}}.hstore_to_jsonb($2)) $$;

-- The same of a message as consume gives it.
create function mbus4.payload(message mbus4.qt_model) returns jsonb
language sql immutable parallel safe
as $$ select mbus4.payload($1.headers, $1.data) $$;
