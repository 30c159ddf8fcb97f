-- The row of mbus4.qt_model that selectors see while a message is posted. $1: the row, $2: its headers
-- as stored.
row($1.id, $1.added, $1.iid, $1.delayed_until, $1.expires, null, {headers:$1.queue;$1.added} operator({hstore}.||) coalesce($2, ''),
    $1.properties, $1.data)::mbus4.qt_model
