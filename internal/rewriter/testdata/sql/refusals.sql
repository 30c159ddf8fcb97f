# What is refused fails in the server, when it is its turn.
create view v as select * from mbus4.consume('orders')
----
select 'mbus4-refusal 0 _session_secret_'::pg_catalog.int4
-- of which the proxy makes for the client:
-- ERROR 0A000: mbus4.consume cannot be called in a view
-- mbus4.create_view(qname, cname, viewname) makes a view over a queue that works without the proxy, too.

select 1; select mbus4.post('orders'); select 2
----
select 1; select 'mbus4-refusal 0 _session_secret_'::pg_catalog.int4; select 2
-- of which the proxy makes for the client:
-- ERROR 42883: function mbus4.post(unknown) does not exist
-- The function is mbus4.post(qname text, data hstore default null, headers hstore default null, properties hstore default null, delayed_until timestamp without time zone default null, expires timestamp without time zone default null, iid text default null, unique_key text default null, unique_for interval default null, payload jsonb default null) returns text.

# No call: forwarded.
select 'mbus4.consume'
----
-- the same
