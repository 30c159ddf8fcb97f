-- The headers that follow from the row. $1: the message's queue, $2: when it was added.
{hstore}.hstore(array['source_db', pg_catalog.current_database()::text, 'destination_queue', $1,
    'seenby', array[pg_catalog.current_database()::text]::text, 'enqueue_time', $2::text])
