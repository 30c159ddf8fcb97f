-- The arguments of the post to dmq. The last of seenby is this database, which posting appends again.
select 1::bigint, 'dmq'::text, (mbus4_message).data,
       ((mbus4_message).headers operator({{.Hstore}}.-) 'destination'::text)
           operator({{.Hstore}}.||) {{.Hstore}}.hstore(array['dmq.added', pg_catalog.clock_timestamp()::text, 'dmq.error', mbus4_error,
               'seenby', pg_catalog.trim_array(((mbus4_message).headers operator({{.Hstore}}.->) 'seenby'::text)::text[], 1)::text]),
       (mbus4_message).properties, null::timestamp, null::timestamp, (mbus4_message).iid
