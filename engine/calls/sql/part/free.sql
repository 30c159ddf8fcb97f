-- The arguments of the calls that take something: one with a wait takes nothing that it would have to wait for. The look before the statement has locked what
-- there is, or the time is over. Queue and Consumer: SQL for them, of the row a of the arguments.
{{.Call}}_free as materialized (
    select a.*
    from {{.Call}}_args a
    where a.wait is null or {{.AwaitMessage}}('{{.MarkOf "a"}}', {{.Queue}}, {{.Consumer}}, a.msgid, a.wait) = ''
),
