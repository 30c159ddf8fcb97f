package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/bench/internal/rig"
)

const template = "scale_template"

// Queues that each database has.
const (
	own   = "own"   // whatever a state is about
	other = "other" // has nothing to do with it
)

// fixtures make what calls need. They are run through the proxy. "gate" holds a message that nobody consumes.
const fixtures = `select mbus4.create_queue(q, 1) from unnest(array['own', 'other', 'gate']) q;
	select mbus4.semaphore_get_or_create('s');
	select mbus4.post('gate', '', iid => 'gate')`

// site is a database, with sessions that its states hold open.
type site struct {
	name   string
	stack  *rig.Stack
	direct *pgconn.PgConn // of the owner of the tables, past the proxy
	calls  *pgconn.PgConn // through the proxy
	held   []*pgconn.PgConn
	built  string // id and time when it was as it should be, as SQL
}

// makeTemplate makes the database that sites are copies of.
func makeTemplate(ctx context.Context, stack *rig.Stack) error {
	if _, err := rig.Exec(ctx, stack.Direct.DSN(), "create database "+template); err != nil {
		return err
	}
	_, err := rig.Exec(ctx, stack.Proxy.To(template).DSN(), fixtures)
	return err
}

// openSite makes a database, with settings for its sessions.
func openSite(ctx context.Context, stack *rig.Stack, name string, settings ...string) (*site, error) {
	s := &site{name: name, stack: stack}
	_, err := rig.Exec(ctx, stack.Direct.DSN(), fmt.Sprintf("create database %s template %s", name, template))
	for _, setting := range settings {
		if err == nil {
			_, err = rig.Exec(ctx, stack.Direct.DSN(), fmt.Sprintf("alter database %s set %s", name, setting))
		}
	}
	if err != nil {
		return nil, err
	}
	if s.direct, err = s.open(ctx, stack.Direct); err == nil {
		s.calls, err = s.open(ctx, stack.Proxy)
	}
	if err != nil {
		s.drop(ctx)
		return nil, err
	}
	return s, nil
}

func (s *site) open(ctx context.Context, way rig.Path) (*pgconn.PgConn, error) {
	conn, err := pgconn.Connect(ctx, way.To(s.name).DSN())
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", s.name, err)
	}
	return conn, nil
}

// drop closes the sessions and removes the database. That it cannot is no reason to stop: it goes with the server.
func (s *site) drop(ctx context.Context) {
	for _, c := range append(s.held, s.direct, s.calls) {
		if c != nil {
			rig.CloseConn(c)
		}
	}
	_, _ = rig.Exec(ctx, s.stack.Direct.DSN(), "drop database "+s.name+" with (force)")
}

// sql runs texts past the proxy, each for itself.
func (s *site) sql(ctx context.Context, texts ...string) error {
	for _, text := range texts {
		if _, err := rig.Query(ctx, s.direct, text); err != nil {
			return err
		}
	}
	return nil
}

// call runs texts through the proxy, each for itself.
func (s *site) call(ctx context.Context, texts ...string) error {
	for _, text := range texts {
		if _, err := rig.Query(ctx, s.calls, text); err != nil {
			return err
		}
	}
	return nil
}

// hold opens a session through the proxy that stays, in a transaction.
func (s *site) hold(ctx context.Context, begin, text string) error {
	conn, err := s.open(ctx, s.stack.Proxy)
	if err != nil {
		return err
	}
	s.held = append(s.held, conn)
	_, err = rig.Query(ctx, conn, begin+"; "+text)
	return err
}

// mark notes that the site is as it should be. Restore takes away what calls have left since then, but for dead rows.
func (s *site) mark(ctx context.Context) (err error) {
	s.built, err = rig.Query(ctx, s.direct, "select format('%s, timestamptz %L', nextval('mbus4.post_id'), clock_timestamp())")
	return err
}

func (s *site) restore(ctx context.Context) error {
	const those = "consumer_id = any(array(select id from mbus4.consumer))"
	id, at, _ := strings.Cut(s.built, ", ")
	return s.sql(ctx, "delete from mbus4.message where "+those+" and available_at between "+at+" and clock_timestamp() and id > "+id,
		"delete from mbus4.message where "+those+" and available_at = 'infinity' and id > "+id,
		"delete from mbus4.waiting where dep = 'gate' and id > "+id)
}

// holdSnapshot keeps what is there now from being vacuumed.
func (s *site) holdSnapshot(ctx context.Context) error {
	return s.hold(ctx, "begin isolation level repeatable read", "select count(*) from pg_class")
}

// hintsRisen waits until the hints of the queues have passed what is there now.
func (s *site) hintsRisen(ctx context.Context, queues ...string) error {
	now, err := rig.Query(ctx, s.direct, "select (extract(epoch from clock_timestamp()) * 1000000)::bigint")
	if err != nil {
		return err
	}
	risen := fmt.Sprintf("select bool_and(coalesce(pg_sequence_last_value(('mbus4.hint_' || coalesce(hint, id %% 128))::regclass), 0) > %s) from mbus4.consumer where qname = any('{%s}')", now, strings.Join(queues, ","))
	for deadline := time.Now().Add(time.Minute); ; {
		if err := s.call(ctx, "select mbus4.is_msg_exists('nowhere')"); err != nil { // the database stays in use
			return err
		}
		switch yes, err := rig.Query(ctx, s.direct, risen); {
		case err != nil || yes == "t":
			return err
		case time.Now().After(deadline):
			return errors.New("the hints have not risen within a minute")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
