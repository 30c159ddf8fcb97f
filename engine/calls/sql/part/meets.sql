-- That a message meets the condition of dyn_consume. Written so that the planner expects most to: see
-- consume.sql. $1: the message, $2: its queue.
and (select case when ({condition}) then 0 end
     from (select $1.id, $1.added::timestamp as added, coalesce($1.iid, {iid:$2;$1.available_at;$1.id}) as iid,
                  $1.delayed_until::timestamp as delayed_until, $1.expires::timestamp as expires, $1.received,
                  {headers:$2;$1.added} operator({hstore}.||) coalesce($1.headers, '')
                      operator({hstore}.||) {hstore}.hstore('destination'::text, $2) as headers,
                  $1.properties, $1.data) t) is not null
