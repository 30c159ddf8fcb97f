select 'mbus4.post()' -- mbus4.post()
----
-- for a database without messages that wait for others, hstore in schema public; --admin names one to look at
-- forwarded as it is: no call that is served
