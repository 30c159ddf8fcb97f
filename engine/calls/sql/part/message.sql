-- A row of mbus4.message as its reader gets it. $1: the row, $2: its queue.
row($1.id, $1.added, coalesce($1.iid, {iid:$2;$1.available_at;$1.id}), $1.delayed_until, $1.expires, $1.received,
    {headers:$2;$1.added} operator({hstore}.||) coalesce($1.headers, '')
        operator({hstore}.||) {hstore}.hstore('destination'::text, $2),
    $1.properties, $1.data)::mbus4.qt_model
