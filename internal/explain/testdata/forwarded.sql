select 'mbus4.post()' -- mbus4.post()
----
-- for a database without messages that wait for others; --admin names one to look at
-- forwarded as it is: no call that is served
