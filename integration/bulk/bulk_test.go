package bulk

import (
	"testing"
	"time"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/internal/bulk"
)

// What was looked at is what is then put back, moved, removed; and what was put back comes to dmq again as it was.
func TestOperations(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q", "r")
	role := harness.NewRole(t)
	harness.Admin(t, "grant mbus4_user to "+role)
	conn := connect(t, database, role)
	admin := harness.Connect(t, harness.Direct(), database)
	die(t, database, 100)
	was := harness.Ask(t, admin, dead)

	red := bulk.Selection{Queue: "Q", Selector: `t.headers->'colour' = 'red'`}
	p := look(t, conn, red, 3)
	if p.Count.Messages != 50 || !p.Count.Exact || p.Count.Looked != 100 || len(p.Samples) != 3 {
		t.Fatalf("looking gave %+v, %d samples", p.Count, len(p.Samples))
	}
	m := p.Samples[0]
	if *m.Data["n"] != "2" || m.Queue != "q" || m.Consumer != "default" || m.Error != "error 2" || m.Attempts != 5 || time.Since(m.Died) > time.Hour {
		t.Errorf("the first sample is %+v", m)
	}

	progress := 0
	id := begin(t, conn, bulk.Request{Kind: bulk.Redrive, Selection: red})
	o, err := bulk.Run(harness.Context(t), conn, id, bulk.Options{Batch: 7, Progress: func(o bulk.Operation) {
		if progress++; o.Done != min(int64(progress)*7, 50) || o.State == bulk.Done != (progress == 8) {
			t.Errorf("after batch %d: %+v", progress, o)
		}
	}})
	if err != nil || o.State != bulk.Done || progress != 8 {
		t.Fatalf("%+v, %v, after %d batches", o, err, progress)
	}
	wantCounts(t, o, 50, 0, 0)
	harness.Want(t, admin, "50|50", `select count(*) filter (where c.qname = 'q' and m.headers->'colour' = 'red' and not exist(m.headers, 'retry.attempt')),
		count(*) filter (where c.qname = 'dmq' and m.headers->'colour' = 'blue') from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id`)

	undo, err := bulk.BeginUndo(harness.Context(t), conn, id)
	if err != nil {
		t.Fatal(err)
	}
	wantCounts(t, run(t, conn, undo), 50, 0, 0)
	harness.Want(t, admin, was, dead)
	harness.Want(t, admin, "0", "select count(*) from mbus4.message where consumer_id <> 1")
	if _, err := bulk.BeginUndo(harness.Context(t), conn, id); bulk.SQLState(err) != "55000" {
		t.Errorf("undone twice: %v", err)
	}

	moved := run(t, conn, begin(t, conn, bulk.Request{Kind: bulk.Move, TargetQueue: "R", Selection: bulk.Selection{Selector: `t.headers->'dmq.error' = 'error 1'`}}))
	wantCounts(t, moved, 34, 0, 0)
	harness.Want(t, admin, "34", "select count(*) from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id where c.qname = 'r'")
	// Of what was moved somebody gets ten, and has leases on five.
	harness.Ask(t, harness.Connect(t, harness.Proxied(), database), "select count(*) from mbus4.consumen('r', amt => 10); select count(*) from mbus4.lease('r', amt => 5)")
	undo, err = bulk.BeginUndo(harness.Context(t), conn, moved.ID)
	if err != nil {
		t.Fatal(err)
	}
	wantCounts(t, run(t, conn, undo), 19, 15, 0)
	harness.Want(t, admin, "85|5", "select count(*) filter (where consumer_id = 1), count(*) filter (where consumer_id <> 1) from mbus4.message")

	purged := run(t, conn, begin(t, conn, bulk.Request{Kind: bulk.Purge, Selection: bulk.Selection{Queue: "q", Consumer: "default"}}))
	wantCounts(t, purged, 85, 0, 0)
	if _, err := bulk.BeginUndo(harness.Context(t), conn, purged.ID); bulk.SQLState(err) != "55000" {
		t.Errorf("a purge undone: %v", err)
	}
	harness.Want(t, admin, "0|5", "select count(*) filter (where consumer_id = 1), count(*) filter (where consumer_id <> 1) from mbus4.message")

	// Each batch has its row in the audit.
	harness.Want(t, admin, role+"|redrive|50|8|"+red.Selector, "select role, action, sum(messages), count(*), min(selector) from mbus4.audit where action = 'redrive' group by 1, 2")
	harness.Want(t, admin, "begin move|1|begin purge|1|begin redrive|1|begin undo|2|move|34|purge|85|redrive|50|undo|69", `
		select string_agg(action || '|' || n, '|' order by action) from (select action, coalesce(sum(messages), count(*)) as n from mbus4.audit group by 1) x`)
}
