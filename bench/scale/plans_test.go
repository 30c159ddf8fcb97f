package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/bench/internal/rig"
)

// Each statement of the engine, those that calls become and those of the services, has plans that look at no more than they need,
// in each state, whatever ANALYZE saw of it, prepared and not. The plans are those that the server runs, told by auto_explain.
func TestPlansInStates(t *testing.T) {
	stack, log := planStack(t)
	w := &watcher{t: t, stack: stack, log: log}
	t.Run("states", func(t *testing.T) {
		for _, s := range append(states(), clean) {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				p := &planner{t: t, state: s, stack: stack, watcher: w}
				p.run()
			})
		}
	})
	w.services()
	found := newFindings()
	for _, l := range w.plans() {
		found.check(l)
	}
	found.report(t)
}

// clean is the state of a database that nobody has used.
var clean = &state{name: "clean", build: func(context.Context, *site, int) error { return nil }}

// planStack starts a stack whose server logs the plans of all sessions that come to a database whose name begins with plans_,
// and gives the folder of its log.
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
	return stack, log
}

// planner runs all statements in one state.
type planner struct {
	t       *testing.T
	state   *state
	stack   *rig.Stack
	watcher *watcher
	site    *site // the last one opened
}

func (p *planner) run() {
	p.t.Helper()
	ctx := p.t.Context()
	p.open(ctx, "used")
	p.sql(ctx, "analyze")
	early := p.session(ctx)
	p.prepare(ctx, early)
	p.build(ctx)
	p.early(ctx, early)
	p.sql(ctx, "analyze")
	p.all(ctx, p.session(ctx), analyzed)
	p.watcher.built(p.site)
	p.open(ctx, "raw")
	p.build(ctx)
	p.all(ctx, p.session(ctx), notAnalyzed)
	p.watcher.built(p.site)
}

// open makes a database whose sessions log their plans. They compile what costs a fifth of what the server takes for dear enough by itself,
// for the states are smaller.
func (p *planner) open(ctx context.Context, kind string) {
	p.t.Helper()
	name := databasePrefix + strings.NewReplacer(" ", "_", ",", "").Replace(p.state.name) + "_" + kind
	site, err := openSite(ctx, p.stack, name, "auto_explain.log_min_duration = 0", "jit_above_cost = 20000")
	if err != nil {
		p.t.Fatal(err)
	}
	p.site = site
}

func (p *planner) sql(ctx context.Context, text string) {
	p.t.Helper()
	if err := p.site.sql(ctx, text); err != nil {
		p.t.Fatal(err)
	}
}

func (p *planner) build(ctx context.Context) {
	p.t.Helper()
	if err := errors.Join(p.site.sql(ctx, "set auto_explain.log_min_duration = -1"), p.site.call(ctx, "set auto_explain.log_min_duration = -1")); err != nil {
		p.t.Fatal(err)
	}
	began := time.Now()
	if err := p.state.build(ctx, p.site, p.state.small); err != nil {
		p.t.Fatalf("building: %v", err)
	}
	p.t.Logf("%s: %d in %v", p.state.name, p.state.small, time.Since(began).Round(time.Millisecond))
}

func (p *planner) session(ctx context.Context) *pgconn.PgConn {
	p.t.Helper()
	conn, err := p.site.open(ctx, p.stack.Proxy)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { rig.CloseConn(conn) })
	p.ask(ctx, conn, "set plan_cache_mode = force_generic_plan")
	return conn
}

func (p *planner) ask(ctx context.Context, conn *pgconn.PgConn, sql string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if _, err := rig.Query(ctx, conn, sql); err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
}

// prepare has a session prepare and plan everything.
func (p *planner) prepare(ctx context.Context, conn *pgconn.PgConn) {
	p.t.Helper()
	for i, s := range statements() {
		p.ask(ctx, conn, fmt.Sprintf("prepare s%d as %s", i, s.sql))
		p.ask(ctx, conn, fmt.Sprintf("begin; execute s%d; rollback", i))
	}
}

// early runs each statement in a session that has prepared it before.
func (p *planner) early(ctx context.Context, conn *pgconn.PgConn) {
	p.t.Helper()
	for i := range statements() {
		p.ask(ctx, conn, fmt.Sprintf("set application_name = '%s'", who{i, preparedEmpty, "prepared"}))
		p.ask(ctx, conn, fmt.Sprintf("begin; execute s%d; rollback", i))
	}
	p.ask(ctx, conn, "reset application_name")
}

// all runs each statement, simple and prepared.
func (p *planner) all(ctx context.Context, conn *pgconn.PgConn, m moment) {
	p.t.Helper()
	for i, s := range statements() {
		p.ask(ctx, conn, fmt.Sprintf("set application_name = '%s'", who{i, m, "simple"}))
		p.ask(ctx, conn, "begin; "+s.sql+"; rollback")
		p.ask(ctx, conn, fmt.Sprintf("set application_name = '%s'", who{i, m, "prepared"}))
		p.ask(ctx, conn, fmt.Sprintf("prepare s%d as %s", i, s.sql))
		p.ask(ctx, conn, fmt.Sprintf("begin; execute s%d; rollback", i))
	}
	p.ask(ctx, conn, "reset application_name")
}
