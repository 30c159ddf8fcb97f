-- A queue that has yet to be created has iids all the same. It begins with the name as the queue bears it, which is folded in a
-- way that leaves the collation of the result to what stands around the call.
(pg_catalog.translate({{.Arg "qname"}}, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz') || ('.' || pg_catalog.current_database()::pg_catalog.text || '.') || pg_catalog.nextval('mbus4.post_id')::pg_catalog.text)
