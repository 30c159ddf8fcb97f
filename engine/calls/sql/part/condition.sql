-- Part of consume.sql.
{meets:x;(select k.queue from {c}_k k)}
