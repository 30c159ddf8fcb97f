-- The consumers and the triggers of a queue. Queue: the queue.
select c.id as consumer_id, case when c.selector_id is not null or c.target is not null then c end as rest from mbus4.consumer c where c.qname = {{.Queue}}
