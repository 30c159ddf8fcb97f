-- Who gets what is posted to a queue: its consumers c without a selector, whether there are others, and among them
-- such that take a condition to decide, and whether there are triggers.
pg_catalog.array_agg(c.id) filter (where c.target is null and c.selector_id is null) as consumers,
pg_catalog.bool_or(c.target is null and c.selector_id is not null) as choosy,
pg_catalog.bool_or(c.target is null and c.general) as general,
pg_catalog.bool_or(c.target is not null) as routed
