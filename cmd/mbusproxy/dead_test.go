package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// die makes n messages dead that came from a queue.
func die(t *testing.T, dsn, queue string, n int) {
	t.Helper()
	do(t, dsn, fmt.Sprintf("select mbus4.post('%s', hstore('n', i::text)) from generate_series(1, %d) i", queue, n),
		fmt.Sprintf("select mbus4.fail(lease, 'no such printer') from mbus4.lease('%s', amt => %d)", queue, n))
}

// TestDeadCommands: what is dead is listed, put back after a look, taken back, moved and removed;
// nothing without a yes.
func TestDeadCommands(t *testing.T) {
	t.Parallel()
	dsn := served(t, "dead")
	do(t, dsn, "select mbus4.create_queue('copies', 1)")
	die(t, dsn, "orders", 30)
	die(t, dsn, "copies", 3)
	count := func(want string) {
		t.Helper()
		got := ask(t, dsn, "select string_agg(queue || ' ' || ready, ', ' order by queue) from mbus4.queues where queue in ('orders', 'copies', 'dmq')")
		if got != want {
			t.Errorf("there are %s, want %s", got, want)
		}
	}
	count("copies 0, dmq 33, orders 0")
	list := document(t, 0, dsn, "dead", "list", "orders", "--limit", "7")
	if len(list) != 7 || list[0]["queue"] != "orders" || list[0]["error"] != "no such printer" || fmt.Sprint(list[0]["data"]) != "map[n:1]" || list[0]["died"] == nil || list[0]["consumer"] != "default" {
		t.Errorf("list: %v", list)
	}
	if list := document(t, 0, dsn, "dead", "list", "--selector", `(t.data->'n') = '2'`); len(list) != 2 {
		t.Errorf("those of a selector: %v", list)
	}
	if list := document(t, 0, dsn, "dead", "list", "--until", "2020-01-01"); len(list) != 0 {
		t.Errorf("those of long ago: %v", list)
	}
	dry := run1(t, nil, "dead", "redrive", "orders", "--dry-run", "--dsn", dsn)
	dry.wantStatus(0)
	if dry.log.String() != "redrive: 30 messages\n" || strings.Count(dry.out.String(), "no such printer") != 5 {
		t.Errorf("dry: %s%s", dry.log, dry.out)
	}
	purge := run1(t, nil, "dead", "purge", "--dsn", dsn)
	purge.wantStatus(exitUsage)
	if !strings.Contains(purge.log.String(), "--yes is needed without a terminal, where nobody can be asked") {
		t.Errorf("with nobody to ask: %s", purge.log)
	}
	count("copies 0, dmq 33, orders 0")
	done := document(t, 0, dsn, "dead", "redrive", "orders", "--yes")
	if len(done) != 1 || done[0]["done"] != 30.0 || done[0]["state"] != "done" || done[0]["undoable"] != true {
		t.Errorf("redriven: %v", done)
	}
	count("copies 0, dmq 3, orders 30")
	if undone := document(t, 0, dsn, "dead", "undo", fmt.Sprint(done[0]["id"])); undone[0]["done"] != 30.0 {
		t.Errorf("undone: %v", undone)
	}
	run1(t, nil, "dead", "undo", fmt.Sprint(done[0]["id"]), "--dsn", dsn).wantFailure(exitFailure, "55000", "")
	count("copies 0, dmq 33, orders 0")
	if moved := document(t, 0, dsn, "dead", "redrive", "orders", "--to", "copies", "-y", "--selector", "(t.data->'n') = '1'"); moved[0]["kind"] != "move" || moved[0]["done"] != 1.0 {
		t.Errorf("moved: %v", moved)
	}
	if purged := document(t, 0, dsn, "dead", "purge", "copies", "--yes"); purged[0]["done"] != 3.0 || purged[0]["undoable"] != false {
		t.Errorf("purged: %v", purged)
	}
	count("copies 1, dmq 29, orders 0")
	run1(t, nil, "dead", "redrive", "copies", "--yes", "--dsn", dsn).wantStatus(exitNothing)
	run1(t, nil, "dead", "redrive", "--selector", "nonsense(", "--yes", "--dsn", dsn).wantStatus(exitFailure)
	run1(t, nil, "dead", "undo", "x", "--dsn", dsn).wantFailure(exitUsage, "not the number of an operation", "dead undo -h")
}

// TestDeadInterrupted: Ctrl-C stops a purge between two batches, ends the operation, and says how far it came.
func TestDeadInterrupted(t *testing.T) {
	t.Parallel()
	dsn := served(t, "interrupted")
	die(t, dsn, "orders", 8000)
	p := start(t, nil, "dead", "purge", "--yes", "--dsn", dsn)
	for ask(t, server.DSN("interrupted"), "select (count(*) > 0)::text from mbus4.audit where action = 'purge'") != "true" {
		select {
		case <-p.ended:
			t.Fatalf("it has ended: %s%s", p.out, p.log)
		default:
		}
	}
	p.signal(syscall.SIGINT)
	p.wantFailure(exitFailure, "interrupted: operation 1 has dealt with ", "goes on with the rest")
	if got := ask(t, server.DSN("interrupted"), "select state || ' ' || (done between 1 and 7999) || ' ' || (done + (select count(*) from mbus4.dmq) = 8000) from mbus4.operations"); got != "cancelled true true" {
		t.Errorf("the operation is %s", got)
	}
}
