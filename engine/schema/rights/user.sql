-- What mbus4_user may do. A text/template; .Slots as in the steps. Granting again is harmless.

grant usage on schema mbus4 to mbus4_user;
grant select on mbus4.queue, mbus4.consumer, mbus4.selector, mbus4.selector_errors to mbus4_user;
grant execute on function mbus4.count_selector_error(bigint, bigint), mbus4.selector_error_counts(), mbus4.reasons(text), mbus4.states_of_consumers(), mbus4.holder_of(xid), mbus4.messages_of(text, text, text, integer) to mbus4_user;
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
-- What is dead, and operations over it: each begins with the rights of whoever calls; what of operations others may not see is behind functions that ask who it is.
grant execute on function mbus4.audit_change(text, text, text, text, bigint, jsonb), mbus4.operation_claim(bigint),
    mbus4.operation_begin(text, text, text, text, timestamptz, timestamptz, text, text, bigint), mbus4.operation_set(bigint, text, text),
    mbus4.operation_note(bigint, bigint, bigint, bigint, bigint, timestamptz, bigint, boolean, mbus4.redriven_message[], timestamptz), mbus4.operation_unlog(bigint),
    mbus4.array_of(text), mbus4.condition_of(text), mbus4.open_dead(timestamptz, bigint, timestamptz, text, text, text), mbus4.first_dead(timestamptz),
    mbus4.count_dead(text, text, text, timestamptz, timestamptz, timestamptz, bigint),
    mbus4.dead_messages(text, text, text, timestamptz, timestamptz, timestamptz, bigint, integer),
    mbus4.put_back(mbus4.message, text, text), mbus4.take_back(mbus4.redriven_message), mbus4.operation_run(bigint, integer)
to mbus4_user;
grant select on mbus4.operations to mbus4_user;
