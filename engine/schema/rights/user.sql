-- What mbus4_user may do. A text/template; .Slots as in the steps. Granting again is harmless.

grant usage on schema mbus4 to mbus4_user;
grant select on mbus4.queue, mbus4.consumer, mbus4.selector, mbus4.selector_errors to mbus4_user;
grant execute on function mbus4.count_selector_error(bigint, bigint), mbus4.selector_error_counts(), mbus4.reasons(text), mbus4.states_of_consumers(), mbus4.holder_of(xid), mbus4.messages_of(text, text, text, integer) to mbus4_user;
grant execute on function mbus4.new_temporary_queue(), mbus4.new_temporary_consumer(text, text, int), mbus4.drop_dead_temporary_queues(bigint, int) to mbus4_user;
-- The UPDATE of a column is what "for update" asks for; what is updated is when a message that waited
-- for others, or is leased, may be delivered, and of a leased one what its attempts leave in it.
grant select, insert, delete, update (available_at, iid, delayed_until, headers) on mbus4.message to mbus4_user;
grant select, insert on mbus4.waiting to mbus4_user;
grant select on mbus4.trigger, mbus4.dmq, mbus4.consumers, mbus4.queues, mbus4.traffic, mbus4.rates to mbus4_user;
grant usage, select on sequence mbus4.message_id, mbus4.post_id to mbus4_user;
-- Reading only: a nextval would move the hint. Who may read hint_0 may read those made later.
grant select on sequence
{{- range $i, $slot := .Slots}}{{if $i}},{{end}} mbus4.hint_{{$slot}}{{end}}
to mbus4_user;
grant select, insert, update, delete on mbus4.work_queue to mbus4_user;
grant usage, select on sequence mbus4.work_queue_id_seq to mbus4_user;
grant select on sequence mbus4.hint_work to mbus4_user;
-- By the clock: whose a schedule is the policies of the table say.
grant select, insert (name, cron, timezone, qname, data, headers, properties), update (name, cron, timezone, qname, data, headers, properties), delete
on mbus4.schedule to mbus4_user;
grant select on mbus4.schedules to mbus4_user;
grant select, insert (queue, key, until), update (until, iid) on mbus4.unique_post to mbus4_user;
-- Semaphores are the applications': who may post may make them. What a task's status is only the Granter
-- says.
-- The columns by name: a right on all of a table's columns would be one to lock the table.
grant select, insert (key, active, try_release), update (key, active, try_release) on mbus4.semaphore to mbus4_user;
grant select, insert (semaphore_id, task_id, priority, arrival), update (priority), delete on mbus4.semaphore_task to mbus4_user;
grant insert on mbus4.semaphore_change to mbus4_user;
grant usage on sequence mbus4.semaphore_arrival to mbus4_user;
-- What is dead, and operations over it. Whose an operation is the policies say; by the columns, as above.
grant insert (action, queue, consumer, selector, messages, details) on mbus4.audit to mbus4_user;
grant select, insert (kind, queue, consumer, selector, since, until, target_queue, target_consumer, undoes, at),
    update (state, at, message, batches, looked, done, refused, held, changed, ended, pid, backend_started, error) on mbus4.operation to mbus4_user;
grant select, insert (operation, batch, messages) on mbus4.operation_log to mbus4_user;
grant execute on function mbus4.open_operations(), mbus4.operation_unlog(bigint), mbus4.array_of(text), mbus4.first_dead(timestamptz) to mbus4_user;
grant select on mbus4.operations to mbus4_user;
