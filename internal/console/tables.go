package console

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"mbusproxy/engine/calls"
)

// activitySQL asks what pg_stat_activity tells of server processes, as far as the client's role may see it.
const activitySQL = `select a.pid, a.state, a.wait_event_type, a.wait_event, a.xact_start, a.state_change,
	pg_catalog.age(a.backend_xmin), pg_catalog."left"(a.query, 200), a.application_name
from pg_catalog.pg_stat_activity a where a.backend_type operator(pg_catalog.=) 'client backend'`

// activities are the rows of pg_stat_activity, by process.
func (s *session) activities() (map[uint32][]*string, error) {
	t, err := s.ask(activitySQL)
	if err != nil {
		return nil, err
	}
	out := make(map[uint32][]*string, len(t.rows))
	for _, row := range t.rows {
		if pid, err := strconv.ParseUint(*row[0], 10, 32); err == nil {
			out[uint32(pid)] = row[1:]
		}
	}
	return out, nil
}

// sessions shows a row for each session. What its server does is the server's word, pins_horizon
// how many transactions old the oldest snapshot is that it holds: nothing that has died since is
// cleaned up. What it calls and holds is the proxy's, see pipeline.Session.
func (s *session) sessions(context.Context, string) (*table, error) {
	known, err := s.activities()
	if err != nil {
		return nil, err
	}
	t := newTable("session", "client", "user", "database", "state", "connected", "state_since", "transaction_since", "server_pid", "wait", "pins_horizon", "application_name", "bytes_from_client", "bytes_from_server", "current_call", "messages_held")
	for _, o := range s.console.cfg.Proxy().Sessions {
		a := known[o.ServerPID]
		if a == nil {
			a = make([]*string, 8)
		}
		var pid any
		if o.ServerPID != 0 {
			pid = o.ServerPID
		}
		var held any // null: it is not known
		if o.Held >= 0 {
			held = o.Held
		}
		t.add(o.ID, o.Client, o.User, o.Database, o.State, o.Since, a[4], a[3], pid, a[2], a[5], a[7], o.FromClient, o.FromServer, o.Call, held)
	}
	return t, nil
}

func (s *session) servers(context.Context, string) (*table, error) {
	known, err := s.activities()
	if err != nil {
		return nil, err
	}
	t := newTable("server_pid", "session", "user", "database", "state", "wait_event_type", "wait_event", "transaction_since", "state_since", "pins_horizon", "query")
	for _, o := range s.console.cfg.Proxy().Sessions {
		if a := known[o.ServerPID]; a != nil {
			t.add(o.ServerPID, o.ID, o.User, o.Database, a[0], a[1], a[2], a[3], a[4], a[5], a[6])
		}
	}
	return t, nil
}

// dead shows what lies in dmq.
func (s *session) dead(context.Context, string) (t *table, err error) {
	err = s.trusting(true, func() error {
		t, err = s.exchange(deadSQL)
		return err
	})
	return t, err
}

func (s *session) stats(context.Context, string) (*table, error) {
	p := s.console.cfg.Proxy()
	t := newTable("what", "value")
	t.add("sessions", len(p.Sessions))
	t.add("sessions_total", p.Admitted)
	t.add("startups", p.Starting)
	t.add("consoles", p.Consoles)
	t.add("prepared_statements_total", p.Prepared)
	t.add("cancel_requests_total", p.CancelRequests)
	t.add("bytes_from_clients_total", p.FromClients)
	t.add("bytes_from_servers_total", p.FromServers)
	t.add("panics_total", p.Panics)
	t.add("lost_synchronization_total", p.LostSync)
	for _, code := range slices.Sorted(maps.Keys(p.Refused)) {
		t.add("startups_failed_total "+code, p.Refused[code])
	}
	p.ClientMessages.Each(false, func(message string, n uint64) { t.add("messages_from_clients_total "+message, n) })
	p.ServerMessages.Each(true, func(message string, n uint64) { t.add("messages_from_servers_total "+message, n) })
	first := len(t.rows)
	s.console.cfg.Calls(func(function string, ok, failed uint64) {
		t.add("calls_total "+function, ok+failed)
		t.add("calls_failed_total "+function, failed)
	})
	slices.SortFunc(t.rows[first:], func(a, b []*string) int { return cmp.Compare(*a[0], *b[0]) })
	return t, nil
}

func (s *session) databases(context.Context, string) (*table, error) {
	t := newTable("database", "waiting_calls", "grants", "release_requests")
	for _, d := range s.console.cfg.Databases() {
		granted, asked := d.Grants()
		t.add(d.Name(), d.Waiting(), granted, asked)
	}
	return t, nil
}

// waitingCalls shows for each consumer how many calls wait, and for how long the first of them has.
// Those that wait for one message have neither queue nor consumer.
func (s *session) waitingCalls(context.Context, string) (*table, error) {
	t := newTable("database", "queue", "consumer", "calls", "since", "longest_seconds")
	some := func(v string) any {
		if v == "" {
			return nil
		}
		return v
	}
	for _, d := range s.console.cfg.Databases() {
		for _, w := range d.WaitingCalls() {
			t.add(d.Name(), some(w.Queue), some(w.Consumer), w.Waiting, w.Since, int64(time.Since(w.Since).Seconds()))
		}
	}
	return t, nil
}

func (s *session) services(context.Context, string) (*table, error) {
	t := newTable("database", "service", "worked", "failing", "failures", "failed", "error")
	for _, d := range s.console.cfg.Databases() {
		for _, r := range d.Services() {
			var failure any
			if r.Failure != "" {
				failure = r.Failure
			}
			t.add(d.Name(), r.Service, r.WorkedAt, r.Failure != "", r.Failures, r.FailedAt, failure)
		}
	}
	return t, nil
}

// ownError is an error of the server as the client gets it: one that a statement of the engine's
// has raised says what the engine means.
func (c *Console) ownError(err error) error {
	var f *failure
	if !errors.As(err, &f) {
		return err
	}
	if code, text, ok := calls.OwnError(f.message); ok {
		return &failure{code: code, message: text}
	}
	return f
}
