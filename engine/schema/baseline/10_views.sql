-- Views.

-- A rule that turns an insert into a view into a post must insert something, so that the client is told
-- how many rows it inserted. The Sweeper throws it away.
create unlogged table mbus4.view_insert (iid text) with (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);
