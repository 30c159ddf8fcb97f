-- As post.sql, for calls that give a key for what is to be posted once: a function does it where no key is to be seen, see whole/post_once.sql. A row that is for
-- another call of the same statement may have no key.
{{.Call}}_posted as materialized (
    select a.n, coalesce({{if and .GivesKey .GivesWindow}}(
               select u.iid
               from mbus4.unique_post u
               where u.queue = pg_catalog.lower(a.qname collate "C") and u.key = a.unique_key and u.until > pg_catalog.clock_timestamp()
                 and a.unique_for > '0' and a.unique_for <= '100 years'
           ), {{end}}{{.PostUnique}}('{{.MarkOf "a"}}', a.qname, {{template "posted_data" .With "Row" "a"}}, {{template "posted_headers" .With "Row" "a"}}, a.properties, a.delayed_until, a.expires, a.iid, {{if .GivesKey}}a.unique_key{{else}}null{{end}}, {{if .GivesWindow}}a.unique_for{{else}}null{{end}})) as iid
    from {{.Call}}_args a
    offset 0
),
{{.Call}}_enforced as (
    insert into mbus4.waiting (dep, consumer_id, id) select null, null, null from {{.Call}}_posted p where pg_catalog.num_nulls(p.n) > 0
),
{{.Call}} as (
    select p.n, p.iid as post from {{.Call}}_posted p
)
