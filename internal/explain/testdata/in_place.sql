update orders set iid = mbus4.post('orders', hstore(o)) from orders o where mbus4.is_msg_exists(o.iid) returning mbus4.generate_new_msgiid('orders')
----
-- for a database without messages that wait for others; --admin names one to look at
-- line 1, column 25: mbus4.post(qname text, data hstore default null, headers hstore default null, properties hstore default null, delayed_until timestamp without time zone default null, expires timestamp without time zone default null, iid text default null, unique_key text default null, unique_for interval default null, payload jsonb default null) returns text
--   in place, by the function mbus4.at_post_4ea59196
-- line 1, column 77: mbus4.is_msg_exists(msgid text) returns boolean
--   inline, by an expression
-- line 1, column 114: mbus4.generate_new_msgiid(qname text) returns text
--   inline, by an expression
-- in place, since where a call stands only the server knows whether and how often it runs, or no query may stand;
-- with one such call all of the statement that change something are served so: docs/interception.md
-- the server gets:
update orders
set iid = mbus4.at_post_4ea59196(
    ('orders')::pg_catalog.text, (hstore(o))::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone,
    null::timestamp without time zone, '1 _session_secret_'
)
from orders o
where (
    select exists (select from pg_catalog.unnest(array[a.msgid]) i (iid) cross join lateral mbus4.undelivered(i.iid)) as "is_msg_exists"
    from (select (o.iid)::pg_catalog.text as msgid) a
)
returning (
    pg_catalog.translate(('orders')::pg_catalog.text, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz') || (
        '.' || pg_catalog.current_database()::pg_catalog.text || '.'
    ) || pg_catalog.nextval('mbus4.post_id')::pg_catalog.text
) as "generate_new_msgiid";
