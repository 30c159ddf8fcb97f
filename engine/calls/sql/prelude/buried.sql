-- The arguments of the post to dmq. All else stays as it was, the queue that the message comes from (destination) among it.
select 1::bigint, 'dmq'::pg_catalog.text, (mbus4_message).data,
       (mbus4_message).headers operator({{.Hstore}}.||) {{.Hstore}}.hstore(array['dmq.added', mbus4.time_text(pg_catalog.clock_timestamp()::timestamp),
           'dmq.error', mbus4_error]),
       (mbus4_message).properties, (mbus4_message).delayed_until, (mbus4_message).expires, (mbus4_message).iid
