-- The messages that wait for others, wherever they stand, for whoever looks for circles.
create index concurrently if not exists message_after on mbus4.message (id) where after is not null;
