-- An array of the ids of a queue's consumers, with null for each that does not get everything, and for each trigger. Queue: the queue.
array(select case when c.target is null and c.selector_id is null then c.id end from mbus4.consumer c where c.qname = {{.Queue}})
