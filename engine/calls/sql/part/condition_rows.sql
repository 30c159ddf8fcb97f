-- Part of consume_rows.sql.
{meets:m;t.queue}
