-- The arguments of the post of a schedule's tick, see scheduler of package housekeeping.
select 1::bigint, s.qname, s.data,
       coalesce(s.headers, '') operator({{.Hstore}}.||) {{.Hstore}}.hstore(array['schedule', s.name, 'scheduled_at', $2::pg_catalog.text]),
       s.properties, null::timestamp, null::timestamp, null::pg_catalog.text
from mbus4.schedule s
where s.name = $1
