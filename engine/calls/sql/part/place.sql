-- The part of an iid that says where the message stands, see schema/baseline/03_iids.sql. At: its available_at, ID: and id. Microseconds
-- are computed in floating point where that is exact, because it is cheaper.
case when {{.At}} < '2038-01-01Z' then (pg_catalog.date_part('epoch', {{.At}}) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
     when {{.At}} < '2200-01-01Z' then (extract(epoch from {{.At}}) * 1000000::numeric)::bigint::pg_catalog.text
     else '' end || {{.ID}}::pg_catalog.text
