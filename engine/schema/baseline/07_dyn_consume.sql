-- What dyn_consume asks when its selector is known only as it runs.

-- True, or the server's error where a text is not balanced. candidates_sql puts the text into parentheses; here it is
-- put into square brackets, in a query of its own that has the same names. A text that closes a parenthesis which it
-- has not opened does not parse here, one that does so with a bracket does not parse there, and one that leaves a
-- literal, a name or a comment open parses in neither, for what follows it in either query closes none. It is one query
-- for each, because two copies of the text in one query could close each other's literals. This one reads nothing.
create function mbus4.is_balanced(selector text) returns boolean
language sql stable
as $$
    select not exists (select from pg_catalog.ts_stat(
        'select null::pg_catalog.tsvector from (select (null::mbus4.qt_model).*) t where false and (array[' || pg_catalog.chr(10)
        || $1 || pg_catalog.chr(10) || ']) is null'))
$$;

-- The text of a query for the addresses of the first messages of a consumer that meet a selector. The selector is
-- read as the session reads it. It is a filter of the index scan, in a CASE of which the planner expects that most rows
-- pass, and to the limit something is added that it cannot see to be zero, or it would fetch and sort a whole backlog.
-- Whether a message waits for another is for the caller to check.
--
-- Times are written as in JSON: in other styles than ISO a zone is an abbreviation, and some mean another zone where they are read.
--
-- Parsing and planning is what it costs, so a selector that asks only for what a message's row holds as such,
-- as t.data->'x', is asked of the row itself. Names that mean something else in the table, or t as a whole (t,
-- t.*, U&"\0074"), take the other text, whose t has exactly the columns of a message; the table's own have other
-- names there, so that in the selector a name without t means the message's.
--
-- Most texts are seen to be balanced without asking the parser: those without quoted names, dollars,
-- backslashes and comments, whose parentheses outside of literals are nested three deep at most.
create function mbus4.candidates_sql(queue text, consumer_id bigint, low timestamptz, now timestamptz, selector text, most bigint)
returns text
language sql stable
as $$
    select case when $5 operator(pg_catalog.!~) '[$";]|--|/[*]' and pg_catalog.strpos($5, pg_catalog.chr(92)) operator(pg_catalog.=) 0
                 and $5 operator(pg_catalog.~) '^(?:[^()'']|''[^'']*''|[(](?:[^()'']|''[^'']*''|[(](?:[^()'']|''[^'']*'')*[)])*[)])*$'
                 or mbus4.is_balanced($5)
    then pg_catalog.format(
        case when $5 ~* '[&*]|[[:<:]]t[[:>:]](?![[:space:]]*[.])|added|iid|delayed_until|expires|received|headers|consumer_id|available_at|after|ctid|tableoid|[cx]m(in|ax)'
        then $mbus4$
        select pg_catalog.array_to_tsvector(array[m.ctid::pg_catalog.text])
        from mbus4.message m (mbus4_id, mbus4_consumer_id, mbus4_available_at, mbus4_added, mbus4_iid, mbus4_delayed_until, mbus4_expires,
            mbus4_received, mbus4_headers, mbus4_properties, mbus4_data, mbus4_after)
        cross join lateral (
            select m.mbus4_id as id, m.mbus4_added::timestamp as added, mbus4.iid_of(m.mbus4_iid, %1$L, m.mbus4_available_at, m.mbus4_id) as iid,
                   coalesce(m.mbus4_delayed_until, m.mbus4_added)::timestamp as delayed_until, m.mbus4_expires::timestamp as expires,
                   coalesce(m.mbus4_received, '{}') as received,
                   mbus4.headers_of(%1$L, m.mbus4_added, m.mbus4_headers) as headers, m.mbus4_properties as properties, m.mbus4_data as data
        ) t
        where m.mbus4_consumer_id = %2$s
          and (m.mbus4_available_at, m.mbus4_id) >= (%3$L::pg_catalog.timestamptz, 0)
          and m.mbus4_available_at <= %4$L::pg_catalog.timestamptz
          and (case when m.mbus4_expires <= %4$L::pg_catalog.timestamptz and %2$s <> 1 then null
                    when (%7$s%5$s%7$s) then 0 end) is not null
        order by m.mbus4_available_at, m.mbus4_id
        limit %6$s + pg_catalog.pg_is_in_recovery()::int
        $mbus4$ else $mbus4$
        select pg_catalog.array_to_tsvector(array[t.ctid::pg_catalog.text])
        from mbus4.message t
        where t.consumer_id = %2$s
          and (t.available_at, t.id) >= (%3$L::pg_catalog.timestamptz, 0)
          and t.available_at <= %4$L::pg_catalog.timestamptz
          and (case when t.expires <= %4$L::pg_catalog.timestamptz and %2$s <> 1 then null
                    when (%7$s%5$s%7$s) then 0 end) is not null
        order by t.available_at, t.id
        limit %6$s + pg_catalog.pg_is_in_recovery()::int
        $mbus4$ end,
        $1, $2, pg_catalog.btrim(pg_catalog.to_json($3)::pg_catalog.text, '"'), pg_catalog.btrim(pg_catalog.to_json($4)::pg_catalog.text, '"'), coalesce(nullif(pg_catalog.btrim($5, E' \t\r\n'), ''), 'true'), $6, E'\n') end
$$;

-- What that query gives: pg_catalog.ts_stat is how an expression runs a text of SQL, and only reads.
create function mbus4.candidates(queue text, consumer_id bigint, low timestamptz, now timestamptz, selector text, most bigint)
returns tid[]
language sql volatile
as $$
    select array(select w.word::pg_catalog.text::pg_catalog.tid from pg_catalog.ts_stat(mbus4.candidates_sql($1, $2, $3, $4, $5, $6)) w)
$$;
