package sqlfuncs

import (
	"fmt"
	"strings"
)

// Unknown returns the hint of an error about a function of the schema that there is not: what to write for what the
// caller seems to mean.
func Unknown(name string) string {
	name = strings.ToLower(name)
	for _, guess := range []func(string) string{foreignName, incompleteName, slip, foreignMessage, misspelled} {
		if hint := guess(name); hint != "" {
			return hint
		}
	}
	return "select mbus4.readme() lists the functions."
}

// habits are the names that other queues have for what is done here, and what to write. "_message",
// "_messages" or "_msg" may stand behind each name.
var habits = []struct{ names, hint string }{
	{
		"send publish enqueue push put add produce emit write insert_event basic_publish send_batch publish_many insert " +
			"insert_many",
		"Perhaps you mean mbus4.post(qname, data).",
	},
	{
		"read pop receive get fetch dequeue poll next get_next get_batch_events next_batch read_with_poll basic_get " +
			"basic_consume recv",
		"Perhaps you mean select * from mbus4.consume(qname), or mbus4.consumen(qname, amt => 10) for several.",
	},
	{
		"acknowledge archive delete confirm commit complete finish finish_batch basic_ack remove set_vt",
		"There is nothing to acknowledge: a message is consumed when the transaction that consumed it commits, and there " +
			"again when it rolls back. What mbus4.lease gave is acknowledged with mbus4.ack(lease).",
	},
	{
		"nack reject requeue release basic_nack basic_reject event_retry dead_letter",
		"There is nothing to reject: a message is there again when the transaction that consumed it rolls back. To put " +
			"it back for later mbus4.retry(message, error), what mbus4.lease gave is given up with mbus4.fail(lease, error).",
	},
	{
		"create declare queue_declare declare_queue make_queue new_queue add_queue createqueue",
		"Perhaps you mean mbus4.create_queue(qname, ncons).",
	},
	{
		"drop delete_queue remove_queue queue_delete destroy_queue dropqueue",
		"Perhaps you mean mbus4.drop_queue(qname).",
	},
	{
		"subscribe register_consumer register_subscriber create_subscription add_consumer bind queue_bind bind_topic",
		"Perhaps you mean mbus4.create_consumer(qname, cname).",
	},
	{
		"unsubscribe unregister_consumer unregister_subscriber delete_consumer remove_consumer unbind queue_unbind",
		"Perhaps you mean mbus4.drop_consumer(qname, cname).",
	},
	{
		"forward route exchange_declare create_route copy",
		"Perhaps you mean mbus4.create_trigger(src, dst, selector).",
	},
	{
		"purge queue_purge clear clear_queue empty empty_queue truncate truncate_queue",
		"Perhaps you mean mbus4.purge_queue(qname); mbus4.clear_queue_<q>() removes the expired messages of queue <q> only.",
	},
	{
		"list list_queues queues queue show_queues get_queues get_queue_info",
		"select * from mbus4.queue lists the queues.",
	},
	{
		"list_consumers consumers consumer get_consumer_info get_consumers list_triggers triggers",
		"select * from mbus4.consumer lists the consumers and the triggers.",
	},
	{
		"queue_depth queue_length queue_size depth length size count metrics metrics_all stats message_count messages " +
			"queue_count",
		"Perhaps you mean mbus4.estimated_messages(qname).",
	},
	{
		"browse show look exists",
		"Perhaps you mean mbus4.peek_<q>(msgid), whether queue <q> holds a message, or mbus4.peek(msgid), which shows one.",
	},
	{
		"run execute",
		"Perhaps you mean mbus4.run_on_<q>(exec): the queue is part of the name.",
	},
	{
		"add_job insert_job enqueue_job add_task",
		"Perhaps you mean mbus4.add_message(payload).",
	},
	{
		"get_job next_job get_next_job get_task fetch_job",
		"Perhaps you mean mbus4.get_next_message(process).",
	},
	{
		"complete_job finish_job job_done complete_task",
		"Perhaps you mean mbus4.complete_message(message_id).",
	},
	{
		"acquire semaphore_acquire semaphore_lock semaphore_wait",
		"Perhaps you mean mbus4.semaphore_enqueue(key, task_id, priority).",
	},
	{
		"semaphore_create create_semaphore semaphore semaphore_get",
		"Perhaps you mean mbus4.semaphore_get_or_create(key).",
	},
	{
		"cron cron_schedule create_schedule add_schedule schedule_job add_cron",
		"Perhaps you mean mbus4.schedule(name, cron, qname, data).",
	},
	{
		"cron_unschedule drop_schedule delete_schedule remove_schedule",
		"Perhaps you mean mbus4.unschedule(name).",
	},
	{
		"help version usage functions",
		"select mbus4.readme() lists the functions.",
	},
}

// foreign has the hints of habits by name.
var foreign = indexHabits()

func indexHabits() map[string]string {
	m := map[string]string{}
	for _, h := range habits {
		for _, name := range strings.Fields(h.names) {
			m[name] = h.hint
		}
	}
	return m
}

func foreignName(name string) string { return foreign[name] }

// foreignMessage is for a foreign name that says what it is about.
func foreignMessage(name string) string {
	for _, suffix := range []string{"_message", "_messages", "_msg"} {
		if hint, ok := foreign[strings.TrimSuffix(name, suffix)]; ok {
			return hint
		}
	}
	return ""
}

// incompleteName is for the name of a family without all of what belongs into it, such as consume_orders.
func incompleteName(name string) string {
	for _, f := range functions {
		switch rest, ok := strings.CutPrefix(name, f.Pattern); {
		case f.Pattern == "":
		case name+"_" == f.Pattern, ok && rest == "":
			return fmt.Sprintf("The name holds the queue: mbus4.%s.", f.DisplayName())
		case ok && f.By:
			queue := strings.TrimSuffix(strings.TrimSuffix(rest, "_"), "_by")
			hint := fmt.Sprintf("The name of mbus4.%s holds queue and consumer; for queue %s write mbus4.%s%s_by_default", f.DisplayName(), queue, f.Pattern, queue)
			if base, plain := byName[f.Serves]; plain {
				hint += fmt.Sprintf(" or mbus4.%s(%s)", base.Name, QuoteLiteral(queue))
			}
			return hint + "."
		}
	}
	return ""
}

// misspelled finds the function whose name is nearest; slip wants it to be one character away.
func misspelled(name string) string { return nearest(name, len(name)) }
func slip(name string) string       { return nearest(name, 1) }

// nearest finds the function whose name is nearest, and no farther than limit; of a family it
// compares what stands before the queue.
func nearest(name string, limit int) string {
	best, hint := limit+1, ""
	consider := func(typed, meant string, says func() string) {
		if d := distance(typed, meant); d < best && d <= len(meant)/3 {
			best, hint = d, says()
		}
	}
	for _, f := range functions {
		if f.Pattern == "" {
			consider(name, f.Name, func() string { return "Perhaps you mean " + f.Signature(f.Name) + "." })
			continue
		}
		for i, c := range name {
			if rest := name[i+1:]; c == '_' && rest != "" && (!f.By || len(readings(rest)) > 0) {
				consider(name[:i+1], f.Pattern, func() string { return "Perhaps you mean " + f.Signature(f.Pattern+rest) + "." })
			}
		}
	}
	return hint
}

// distance is the number of characters to insert, delete, replace or swap with the next that make b of a.
func distance(a, b string) int {
	const far = 1 << 10
	if len(a) > far {
		return far
	}
	// Rows of the table for the characters of a: the one being filled and the two before.
	row, last, before := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		row, last, before = before, row, last
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
