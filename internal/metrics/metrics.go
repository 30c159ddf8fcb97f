package metrics

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"mbusproxy/engine"
	"mbusproxy/engine/semaphore"
	"mbusproxy/proxy"
	"mbusproxy/proxy/relay"
	"mbusproxy/rewrite"
)

const (
	// MostConsumers is how many consumers of a database are shown; those with the most messages.
	MostConsumers = 2000
	// lookTimeout is for all databases of a scrape: whoever waits for two of them has waited for less than
	// the ten seconds after which Prometheus gives up.
	lookTimeout = 4 * time.Second
	// databaseTimeout is for one of them, so that one which answers late does not keep the others from being seen.
	databaseTimeout = time.Second
)

// Source is where the numbers come from. Its functions are safe for concurrent use.
type Source struct {
	Version  string
	Proxy    func() proxy.Stats
	Rewriter func() rewrite.Counts
	// Calls gives for each function how many statements with calls of it have run and failed.
	Calls func(each func(function string, ok, failed uint64))
	// Refusals are statements that the proxy has refused, by SQLSTATE.
	Refusals  func() map[string]uint64
	Databases func() []*engine.Database
}

// family is one metric.
type family struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func counter(name, help string, labels ...string) family {
	return family{prometheus.NewDesc("mbusproxy_"+name, help, labels, nil), prometheus.CounterValue}
}

func gauge(name, help string, labels ...string) family {
	return family{prometheus.NewDesc("mbusproxy_"+name, help, labels, nil), prometheus.GaugeValue}
}

func histogram(name, help string, labels ...string) family {
	return family{prometheus.NewDesc("mbusproxy_"+name, help, labels, nil), prometheus.UntypedValue}
}

var (
	info = gauge("build_info", "1, with the program's version.", "version")

	sessions       = gauge("sessions", "Sessions of clients by state: those of pg_stat_activity, starting (logging in) and waiting (a call waits for messages).", "state")
	sessionsTotal  = counter("sessions_total", "Sessions that have begun to log in.")
	sessionsMax    = gauge("max_sessions", "--max-connections; 0: no limit.")
	startups       = gauge("startups", "Connections that have not logged in yet.")
	consoles       = gauge("console_sessions", "Clients in the console.")
	preparedTotal  = counter("prepared_statements_total", "Statements that the proxy has prepared in sessions, for calls that come again.")
	refusedTotal   = counter("startups_failed_total", "Connections that got no session, by the SQLSTATE that the proxy gave; authentication: the server says that the client is not who it says to be, or may not come in; server: it has refused them for another reason; none: without a word.", "sqlstate")
	cancelsTotal   = counter("cancel_requests_total", "Cancel requests; unknown: for no session of this proxy.", "session")
	bytesTotal     = counter("bytes_total", "Bytes read from clients and from servers.", "from")
	messagesTotal  = counter("protocol_messages_total", "Messages of the protocol read from clients and from servers, by their names in the Postgres manual; none of startups and replication.", "from", "message")
	panicsTotal    = counter("panics_total", "Panics, each of which has ended one session or startup.")
	lostSyncTotal  = counter("lost_synchronization_total", "Sessions that were closed because the server's replies did not fit.")
	memoryUsed     = gauge("memory_used_bytes", "Of the memory that sessions share for messages under way (long_messages) and for the texts of what they have prepared (statement_texts).", "budget")
	memorySize     = gauge("memory_size_bytes", "How much of it there is.", "budget")
	draining       = gauge("draining", "1 while the proxy takes no more clients because it is about to end.")
	callsTotal     = counter("calls_total", "Calls of functions of mbus4 in statements that have run (ok) or failed (error).", "function", "outcome")
	refusalsTotal  = counter("statements_refused_total", "Statements with calls that the proxy has refused, by SQLSTATE.", "sqlstate")
	rewritesTotal  = counter("rewrites_total", "Statements that mention the schema: known from the cache (hit), or read (miss).", "cache")
	parsesTotal    = counter("parses_total", "Texts that the parser has read.")
	parseTime      = counter("parse_seconds_total", "Time that took.")
	databaseUp     = gauge("database_up", "1 where what is in a database could be counted for this scrape.", "database")
	waiting        = gauge("waiting_calls", "Calls that wait for messages at this proxy.", "database")
	serviceWorked  = gauge("service_worked_timestamp_seconds", "When a service of the database last did what it is there for. In a database that nobody uses they rest.", "database", "service")
	serviceFailing = gauge("service_failing", "1 from an interruption of a service until it works again.", "database", "service")
	serviceFailed  = counter("service_failures_total", "Interruptions of a service.", "database", "service")
	granted        = counter("semaphore_grants_total", "Slots of semaphores that this proxy has given.", "database")
	grantLatency   = histogram("semaphore_grant_seconds", "From the end of the transaction that released a slot, or that enqueued the task where a slot was free, to the grant by this proxy; where it did not see that transaction end, from its last look before.", "database")
	asked          = counter("semaphore_release_requests_total", "Tasks that this proxy has asked to leave their slot.", "database")
	tasks          = gauge("semaphore_tasks", "Tasks of semaphores, waiting or active (with a slot); at most 10000 of each are counted.", "database", "state")

	consumers      = gauge("queue_consumers", "Consumers of a queue.", "database", "queue")
	messages       = gauge("consumer_messages", "Messages that a consumer is still to get: ready, delayed, waiting (for others), leased or held (by an open transaction). Estimates where exact is 0.", "database", "queue", "consumer", "state")
	oldest         = gauge("consumer_oldest_ready_seconds", "For how long the oldest message has been ready; 0: none is.", "database", "queue", "consumer")
	dead           = gauge("consumer_dead_messages", "Messages of the consumer that lie in dmq.", "database", "queue", "consumer")
	selectorErrors = gauge("consumer_selector_errors", "Messages for which the consumer's selector failed.", "database", "queue", "consumer")
	posted         = counter("database_messages_posted_total", "Rows of messages that have been posted, one for each consumer, by anybody, as the server counts them.", "database")
	removed        = counter("database_messages_removed_total", "Rows of messages that have been removed.", "database")
	paused         = gauge("consumer_paused", "1 while the consumer is paused.", "database", "queue", "consumer")
	exact          = gauge("consumer_messages_exact", "1 where all messages were counted.", "database", "queue", "consumer")
	hidden         = gauge("consumers_not_shown", "Consumers that are not shown, because there are too many.", "database")

	families = []family{
		info, sessions, sessionsTotal, sessionsMax, startups, consoles, preparedTotal, refusedTotal, cancelsTotal, bytesTotal, messagesTotal, panicsTotal, lostSyncTotal, memoryUsed, memorySize, draining,
		callsTotal, refusalsTotal, rewritesTotal, parsesTotal, parseTime, databaseUp, waiting, serviceWorked, serviceFailing, serviceFailed, granted, grantLatency, asked, tasks,
		consumers, messages, oldest, dead, selectorErrors, posted, removed, paused, exact, hidden,
	}
)

// collector is a prometheus.Collector.
type collector struct {
	source Source
	log    *zap.Logger
	looks  looks[engine.Overview]

	mu   sync.Mutex // held while databases are looked at
	next string     // the database with which the next scrape begins; "": the first
}

// Describe tells all metrics.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range families {
		to <- f.desc
	}
}

// sink takes the values of one scrape.
type sink chan<- prometheus.Metric

func (to sink) put(f family, v float64, labels ...string) {
	m, err := prometheus.NewConstMetric(f.desc, f.kind, v, readable(labels)...)
	if err != nil { // the other metrics are shown all the same
		m = prometheus.NewInvalidMetric(f.desc, err)
	}
	to <- m
}

// readable are labels as UTF-8, which the name of a database need not be: whoever may create
// databases chooses the bytes.
func readable(labels []string) []string {
	for i, l := range labels {
		if utf8.ValidString(l) {
			continue
		}
		var b strings.Builder
		for len(l) > 0 {
			if r, size := utf8.DecodeRuneInString(l); r == utf8.RuneError && size == 1 {
				fmt.Fprintf(&b, `\x%02x`, l[0])
				l = l[1:]
			} else {
				b.WriteString(l[:size])
				l = l[size:]
			}
		}
		labels[i] = b.String()
	}
	return labels
}

// putLatencies puts a histogram.
func (to sink) putLatencies(f family, v semaphore.Latencies, labels ...string) {
	within := make(map[float64]uint64, len(v.Within))
	for i, bound := range semaphore.LatencyBounds() {
		within[bound.Seconds()] = v.Within[i]
	}
	m, err := prometheus.NewConstHistogram(f.desc, v.Count, v.Sum.Seconds(), within, readable(labels)...)
	if err != nil {
		m = prometheus.NewInvalidMetric(f.desc, err)
	}
	to <- m
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Collect gives the values.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	to := sink(metrics)
	to.put(info, 1, c.source.Version)
	c.proxy(to)
	c.source.Calls(func(function string, ok, failed uint64) {
		to.put(callsTotal, float64(ok), function, "ok")
		to.put(callsTotal, float64(failed), function, "error")
	})
	for code, n := range c.source.Refusals() {
		to.put(refusalsTotal, float64(n), code)
	}
	r := c.source.Rewriter()
	to.put(rewritesTotal, float64(r.Hits), "hit")
	to.put(rewritesTotal, float64(r.Misses), "miss")
	to.put(parsesTotal, float64(r.Parser.Texts))
	to.put(parseTime, r.Parser.Time.Seconds())
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	served := map[string]bool{}
	all := c.source.Databases()
	// Where the time is not enough for all, the next scrape begins with those that this one has not seen.
	first := max(0, slices.IndexFunc(all, func(d *engine.Database) bool { return d.Name() == c.next }))
	c.next = ""
	for _, d := range slices.Concat(all[first:], all[:first]) {
		if served[d.Name()] = true; ctx.Err() != nil && c.next == "" {
			c.next = d.Name()
		}
		c.database(ctx, to, d)
	}
	c.looks.keep(served)
}

func (c *collector) proxy(to sink) {
	s := c.source.Proxy()
	states := make([]int, len(relay.States()))
	for i := range s.Sessions {
		states[s.Sessions[i].State]++
	}
	for i, name := range relay.States() {
		to.put(sessions, float64(states[i]), name)
	}
	to.put(sessionsTotal, float64(s.Admitted))
	to.put(sessionsMax, float64(s.MaxConnections))
	to.put(startups, float64(s.Starting))
	to.put(consoles, float64(s.Consoles))
	to.put(preparedTotal, float64(s.Prepared))
	for code, n := range s.Refused {
		to.put(refusedTotal, float64(n), code)
	}
	to.put(cancelsTotal, float64(s.Canceled), "known")
	to.put(cancelsTotal, float64(s.CancelRequests-s.Canceled), "unknown")
	to.put(bytesTotal, float64(s.FromClients), "client")
	to.put(bytesTotal, float64(s.FromServers), "server")
	s.ClientMessages.Each(false, func(message string, n uint64) { to.put(messagesTotal, float64(n), "client", message) })
	s.ServerMessages.Each(true, func(message string, n uint64) { to.put(messagesTotal, float64(n), "server", message) })
	to.put(panicsTotal, float64(s.Panics))
	to.put(lostSyncTotal, float64(s.LostSync))
	to.put(memoryUsed, float64(s.LongUsed), "long_messages")
	to.put(memorySize, float64(s.LongSize), "long_messages")
	to.put(memoryUsed, float64(s.TextsUsed), "statement_texts")
	to.put(memorySize, float64(s.TextsSize), "statement_texts")
	to.put(draining, number(s.Ending))
}

func (c *collector) database(ctx context.Context, to sink, d *engine.Database) {
	name := d.Name()
	to.put(waiting, float64(d.Waiting()), name)
	for _, s := range d.Services() {
		if !s.WorkedAt.IsZero() {
			to.put(serviceWorked, float64(s.WorkedAt.UnixMilli())/1000, name, s.Service)
		}
		to.put(serviceFailing, number(s.Failure != ""), name, s.Service)
		to.put(serviceFailed, float64(s.Failures), name, s.Service)
	}
	given, left := d.Grants()
	to.put(granted, float64(given), name)
	to.put(asked, float64(left), name)
	to.putLatencies(grantLatency, d.GrantLatencies(), name)
	short, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	o, err := c.looks.get(short, name, d.Overview)
	if err != nil && ctx.Err() != nil {
		return // it was not looked at, which says nothing of it
	}
	to.put(databaseUp, number(err == nil), name)
	if err != nil {
		c.log.Warn("metrics without what is in a database", zap.Error(err))
		return
	}
	to.put(tasks, float64(o.Tasks.Waiting), name, "waiting")
	to.put(tasks, float64(o.Tasks.Active), name, "active")
	to.put(posted, float64(o.Posted), name)
	to.put(removed, float64(o.Removed), name)
	shown := o.Consumers[:min(len(o.Consumers), MostConsumers)]
	to.put(hidden, float64(len(o.Consumers)-len(shown)), name)
	listed := map[string]bool{}
	for _, k := range shown {
		listed[k.Queue] = true
		for state, n := range map[string]int64{"ready": k.Ready, "delayed": k.Delayed, "waiting": k.Waiting, "leased": k.Leased, "held": k.Held} {
			to.put(messages, float64(n), name, k.Queue, k.Consumer, state)
		}
		to.put(oldest, k.OldestReady.Seconds(), name, k.Queue, k.Consumer)
		to.put(dead, float64(k.Dead), name, k.Queue, k.Consumer)
		if k.SelectorErrors != nil {
			to.put(selectorErrors, float64(*k.SelectorErrors), name, k.Queue, k.Consumer)
		}
		to.put(paused, number(k.Paused), name, k.Queue, k.Consumer)
		to.put(exact, number(k.Exact), name, k.Queue, k.Consumer)
	}
	for _, q := range o.Queues {
		if listed[q.Queue] || len(shown) == len(o.Consumers) {
			to.put(consumers, float64(q.Consumers), name, q.Queue)
		}
	}
}
