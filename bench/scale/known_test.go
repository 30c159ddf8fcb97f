package main

// Reasons that several have.
const (
	notAlways = "; not in each run"
	fewOfMany = "analyzed when two to four rows of many were not dead, an index seems to have more pages for one entry than the table has"
	deadRows  = "dead entries that a snapshot or an open poster keeps are walked over: the hint cannot rise, or is not asked"
)

// knownFindings is what is not as it should be.
var knownFindings = []known{
	{".*", "selector_errors", "Seq Scan on (consumer|selector_slot)", "the view shows all"},
	{".*", "queues", "Seq Scan on queue", "the view shows all"},
	{".*", "queues|consumers", "Seq Scan on (consumer|selector_slot)", "the view shows all"},
	{".*", "rates|service: with gone as .*delete from mbus4.traffic .*", "Seq Scan on traffic", "a hundred rows"},
	{"queues|lagging consumer", "consumers|queues", "pages", "some pages for each consumer, and for dead entries" + notAlways},
	{".*", "peek|peek_q of (own|other)", "Seq Scan on consumer", "a plan for once, of a table that was never analyzed"},
	{".*", "create_trigger of (own|other)|drop_queue", "Seq Scan on consumer", "all triggers are looked at"},
	{".*", "service: .*", "Seq Scan on (consumer|queue|selector)", "a service looks at all names"},
	{"general selectors", "selector_errors", "pages", "the view shows all" + notAlways},
	{".*", "service: with gone as .delete from mbus4.semaphore_change .*", "Seq Scan on semaphore_change", "who begins to lead takes all"},
	{"poster", "(consume|consume, in place|consume_q|consumen|dyn_consume|dyn_consume, in place|peek_q|messages_of) of own", "pages", deadRows},
	{"snapshot|poster", "peek|peek_q of (own|other)", "pages", deadRows + notAlways},
	{"lagging consumer|consumers", ".*", "Seq Scan on message", fewOfMany},
	{"lagging consumer|consumers", "take", "pages", fewOfMany},
	{"general selectors", "post.*", "Seq Scan on selector", "all selectors there are belong to the queue"},
	{"consumers|queues|triggers.*", "service: select s.id from .*", "Sort", "the consumers with a hint of their own are chosen among all" + notAlways},
	{".*", "service: select h.slot.*", "Sort", "the hinter sorts by slot what it takes the lowest of"},
	{"chain|payloads", "peek_q of own", "Sort", "not analyzed, a bitmap is sorted"},
	{"waiting for one", "take the gate", "Sort", "a hundred of those that wait are chosen"},
}
