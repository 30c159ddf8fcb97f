package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/bench/internal/rig"
)

// Each statement of the engine, those that calls become and those of the services, has plans that
// look at no more than they need, in each state, whatever ANALYZE saw of it, prepared and not. All
// states with MBUS_LONG=1. The plans are those that the server runs, told by auto_explain.
func TestPlansInStates(t *testing.T) {
	stack, log := planStack(t)
	work := make(chan *state)
	found := newFindings()
	var wg sync.WaitGroup
	for range atOnce {
		wg.Go(func() {
			for s := range work {
				t.Run(s.name, func(t *testing.T) {
					p := &planner{state: s, stack: stack, log: log, late: found.add}
					if err := p.run(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
	for _, s := range planned() {
		if os.Getenv("MBUS_LONG") != "" || slices.Contains(soon, s.name) {
			work <- s
		}
	}
	close(work)
	wg.Wait()
	if err := (&reader{file: log}).read(found.check); err != nil {
		t.Fatal(err)
	}
	found.report(t)
}

// soon are the states that are looked at unless MBUS_LONG is set.
var soon = []string{"clean", "rounded", "triggers, odd statistics"}

// atOnce is how many states are looked at at once: most of the time is for services to have their turns.
const atOnce = 6

// first is the form of a statement that is not looked at.
const first = "first"

// clean is the state of a database that nobody has used.
var clean = &state{name: "clean", build: func(context.Context, *site, int) error { return nil }}

// rounded is a backlog of such a size that the planner takes the entries of an index between two
// bounds for two (1.5 of them, rounded up), and what of them fits for one: then reading all, and
// sorting, seems no dearer than the first in order. It does so with one per cent more or fewer no
// longer. A row comparison has no second bound that it would be taken together with.
var rounded = &state{name: "rounded", small: 60_100, build: func(ctx context.Context, s *site, n int) error {
	return s.sql(ctx, messages(consumerOf(own, "default"), n, one))
}}

// planned are the states whose plans are looked at: all, and those of which nothing is measured.
func planned() []*state { return append(states(), clean, rounded) }

// planStack starts a stack whose server logs the plans of all sessions that come to a database
// whose name begins with plans_, and gives its log.
func planStack(t *testing.T) (*rig.Stack, string) {
	t.Helper()
	tools, err := rig.FindTools()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	if err := errors.Join(os.Mkdir(log, 0o777), os.Chmod(log, 0o777), os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil { // the server may run as another user
		t.Fatal(err)
	}
	if tools.Proxy, err = rig.BuildProxy(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	stack, err := startStack(t.Context(), tools, filepath.Join(dir, "stack"), map[string]string{
		"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off",
		"session_preload_libraries": "auto_explain",
		"auto_explain.log_analyze":  "on", "auto_explain.log_buffers": "on", "auto_explain.log_timing": "off",
		"auto_explain.log_nested_statements": "on", "auto_explain.log_format": "json",
		"log_destination": "jsonlog", "logging_collector": "on", "log_directory": log, "log_filename": "plans.log", "log_rotation_size": "0", "log_rotation_age": "0",
		"log_min_messages": "log",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Stop(); err != nil {
			t.Error(err)
		}
	})
	return stack, filepath.Join(log, "plans.json")
}

// planner runs all statements in one state.
type planner struct {
	state *state
	stack *rig.Stack
	log   string
	late  func(what finding, where string) // is told of a statement that takes too long
}

func (p *planner) run(ctx context.Context) error {
	return errors.Join(p.used(ctx), p.raw(ctx))
}

// used is a database that was analyzed when it was empty, and is again.
func (p *planner) used(ctx context.Context) error {
	site, err := p.open(ctx, "used")
	if err != nil {
		return err
	}
	defer site.drop(context.WithoutCancel(ctx))
	err = site.sql(ctx, "analyze")
	if err == nil {
		err = site.call(ctx, "set plan_cache_mode = force_generic_plan")
	}
	for i, s := range statements() {
		if err == nil {
			err = site.call(ctx, s.prepare(i), "begin; "+s.execute(i)+"; rollback")
		}
	}
	if err == nil {
		err = p.build(ctx, site)
	}
	for i, s := range statements() {
		if err == nil {
			err = p.one(ctx, site, who{i, preparedEmpty, "prepared"}, s.execute(i))
		}
	}
	if err == nil {
		err = site.sql(ctx, "analyze")
	}
	for i, s := range statements() {
		if err == nil && strings.HasPrefix(s.label, "ack") { // it writes nothing, and may find that its session had to forget the catalogs
			err = p.one(ctx, site, who{i, analyzed, first}, s.text())
		}
		if err == nil {
			err = p.one(ctx, site, who{i, analyzed, "simple"}, s.text())
		}
		if err == nil { // ANALYZE has made it plan anew
			err = p.one(ctx, site, who{i, analyzed, "prepared"}, s.execute(i))
		}
	}
	if err == nil {
		err = p.services(ctx, site)
	}
	return err
}

// raw is a database that nobody has analyzed.
func (p *planner) raw(ctx context.Context) error {
	site, err := p.open(ctx, "raw")
	if err != nil {
		return err
	}
	defer site.drop(context.WithoutCancel(ctx))
	err = p.build(ctx, site)
	for i, s := range statements() {
		if err == nil { // so that it has read the catalogs
			err = p.one(ctx, site, who{i, notAnalyzed, first}, s.text())
		}
		if err == nil {
			err = p.one(ctx, site, who{i, notAnalyzed, "simple"}, s.text())
		}
	}
	return err
}

// open makes a database of which the server logs the plans. Its sessions compile what costs a fifth
// of what the server takes for dear enough by itself, for the states are smaller.
func (p *planner) open(ctx context.Context, kind string) (*site, error) {
	name := databasePrefix + strings.NewReplacer(" ", "_", ",", "").Replace(p.state.name) + "_" + kind
	return openSite(ctx, p.stack, name, "auto_explain.log_min_duration = 0", "jit_above_cost = 20000")
}

func (p *planner) build(ctx context.Context, s *site) error {
	const off, on = "set auto_explain.log_min_duration = -1", "set auto_explain.log_min_duration = 0"
	return errors.Join(s.sql(ctx, off), s.call(ctx, off), p.state.build(ctx, s, p.state.small), s.call(ctx, on), s.call(ctx, "set statement_timeout = 5000"))
}

// one runs a statement under a name, and takes back what it does.
func (p *planner) one(ctx context.Context, s *site, name who, sql string) error {
	if s := statements()[name.statement]; p.state.work[s.label] != "" {
		return nil // it reads what the state is made of
	}
	nested := "on"
	if statements()[name.statement].alone {
		nested = "off"
	}
	err := s.call(ctx, fmt.Sprintf("set application_name = '%s'; set auto_explain.log_nested_statements = %s", name, nested), "begin; "+sql+"; rollback")
	var report *pgconn.PgError
	if errors.As(err, &report) && report.Code == canceled {
		p.late(finding{plainName(p.state.name), statements()[name.statement].label, "time"}, name.moment.String()+", "+name.form)
		return s.call(ctx, "rollback")
	}
	if err != nil {
		return fmt.Errorf("%s, %s: %w", statements()[name.statement].label, name.moment, err)
	}
	return nil
}

// services waits until each service has had a turn.
func (p *planner) services(ctx context.Context, s *site) error {
	deadline := time.Now().Add(servicesLimit)
	seen := map[string]bool{}
	log := &reader{file: p.log}
	if err := log.skip(); err != nil {
		return err
	}
	log.only = [][]byte{[]byte(`"dbname":"` + s.name + `"`), []byte(`"application_name":"` + serviceName + `"`)}
	for len(seen) < len(turns) {
		if time.Now().After(deadline) {
			return fmt.Errorf("within %v only %v", servicesLimit, seen)
		}
		if err := s.call(ctx, "set application_name = ''; select mbus4.is_msg_exists('nowhere')"); err != nil { // the database stays in use
			return err
		}
		err := log.read(func(l logged) {
			for _, turn := range turns {
				if strings.HasPrefix(strings.TrimSpace(l.text), turn) {
					seen[turn] = true
				}
			}
		})
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	return nil
}
