-- A view for others comes with two functions, which belong to the role that creates it and live here.
-- Nobody needs rights on this schema to use a view.

create schema if not exists mbus4_views;
grant usage, create on schema mbus4_views to mbus4_admin;
