-- The view waiting_in_circle, by a plan that was made while few messages waited: the planner may then look up the dependencies of each message
-- in a hash that it makes anew for each, as Postgres 18 does. The joins are in the order in which they are written, and each hash is made once.
alter function mbus4.circles() set join_collapse_limit = 1;
