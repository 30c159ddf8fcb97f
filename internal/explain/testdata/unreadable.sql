select mbus4.post('orders'
----
-- for a database without messages that wait for others; --admin names one to look at
-- forwarded as it is, and its calls are not served: mbusproxy cannot read it, syntax error at end of input
ends with 1: the text cannot be read: syntax error at end of input
