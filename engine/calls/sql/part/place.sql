-- The part of an iid that says where the message stands, see schema/baseline/03_iids.sql. At: its available_at, ID: and id. Microseconds
-- are computed in floating point where that is exact, because it is cheaper.
case when {{.At}} < '2038-01-01Z' then (pg_catalog.date_part('epoch', {{.At}}) * 1000000::float8)::bigint::text
     when {{.At}} < '2200-01-01Z' then (extract(epoch from {{.At}}) * 1000000::numeric)::bigint::text
     else '' end || {{.ID}}::text
