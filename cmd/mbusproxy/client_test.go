package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// served starts a proxy, makes a database with a queue, and returns its DSN through the proxy.
func served(t *testing.T, database string, flags ...string) string {
	t.Helper()
	do(t, server.DSN("postgres"), "create database "+database)
	_, dsn := startServe(t, flags...)
	dsn = strings.Replace(dsn, "dbname=postgres", "dbname="+database, 1)
	do(t, dsn, "select mbus4.create_queue('orders', 1)")
	return dsn
}

// document runs a command with --output json and reads what it prints.
func document(t *testing.T, status int, dsn string, args ...string) (rows []map[string]any) {
	t.Helper()
	p := run1(t, []string{"MBUS_DSN=" + dsn}, append(args, "--output", "json")...)
	p.wantStatus(status)
	if err := json.Unmarshal([]byte(p.out.String()), &rows); err != nil {
		t.Fatalf("%v: %v in\n%s", args, err, p.out)
	}
	return rows
}

// TestClientCommands goes the way of a message: posted, seen, asked about, consumed, gone.
func TestClientCommands(t *testing.T) {
	t.Parallel()
	dsn := served(t, "clients")
	posted := document(t, 0, dsn, "post", "orders", `{"n": [1, "<&>"]}`, "--header", "who=me=you", "--property", "kind=a b", "--iid", "first", "--expires-in", "1 hour")
	if len(posted) != 1 || posted[0]["iid"] != "first" {
		t.Errorf("posted %v", posted)
	}
	if again := document(t, 0, dsn, "post", "orders", "--data", "a=>1", "--delayed-until", "2099-01-01 00:00+00", "--unique-key", "k", "--unique-for", "1h"); again[0]["iid"] == "" {
		t.Errorf("posted %v", again)
	}
	if q := document(t, 0, dsn, "queues", "orders"); len(q) != 1 || q[0]["consumer"] != "default" || q[0]["ready"] != 1.0 || q[0]["delayed"] != 1.0 || q[0]["exact"] != true {
		t.Errorf("queues: %v", q)
	}
	if m := document(t, 0, dsn, "peek", "orders", "--state", "delayed"); len(m) != 1 || fmt.Sprint(m[0]["data"]) != "map[a:1]" {
		t.Errorf("peek: %v", m)
	}
	for _, command := range [][]string{{"peek", "--iid", "first"}, {"consume", "orders"}} {
		m := document(t, 0, dsn, command...)
		if len(m) != 1 || m[0]["iid"] != "first" || fmt.Sprint(m[0]["payload"]) != "map[n:[1 <&>]]" || m[0]["expires"] == nil ||
			m[0]["headers"].(map[string]any)["who"] != "me=you" || m[0]["properties"].(map[string]any)["kind"] != "a b" {
			t.Errorf("%v: %v", command, m)
		}
		if command[0] == "peek" {
			if w := document(t, 0, dsn, "why", "first"); len(w) != 1 || w[0]["state"] != "ready" {
				t.Errorf("why: %v", w)
			}
		}
	}
	for _, command := range [][]string{{"peek", "--iid", "first"}, {"why", "first"}, {"consume", "orders"}, {"consume", "orders", "--wait", "10ms"}} {
		if m := document(t, exitNothing, dsn, command...); len(m) != 0 {
			t.Errorf("%v: %v", command, m)
		}
	}
	if plain := run1(t, nil, "consume", "orders", "--dsn", dsn); plain.status != exitNothing || plain.out.String()+plain.log.String() != "" {
		t.Errorf("nothing to consume is %d: %s%s", plain.status, plain.out, plain.log)
	}
	top := run1(t, nil, "top", "--dsn", dsn)
	top.wantStatus(0)
	if !strings.Contains(top.out.String(), "\norders ") || strings.Contains(top.out.String(), "\x1b") {
		t.Errorf("top: %s", top.out)
	}
	var shot map[string][]map[string]any
	if err := json.Unmarshal([]byte(run1(t, nil, "top", "--output", "json", "--dsn", dsn).out.String()), &shot); err != nil || shot["sessions"][0]["database"] != "clients" || len(shot["rates"]) != 3 {
		t.Errorf("top: %v, %v", shot, err)
	}
}

// TestPostLines: a line is a message, all are posted in one transaction or none is, and the iids
// come in the order of the lines.
func TestPostLines(t *testing.T) {
	t.Parallel()
	dsn := served(t, "lines")
	post := func(input string) (out string, err error) {
		cmd := exec.Command(os.Args[0], "post", "orders", "--lines", "--header", "a=1", "--dsn", dsn)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		cmd.Stdin = strings.NewReader(input)
		text, err := cmd.Output()
		return string(text), err
	}
	var lines strings.Builder
	for i := range 1201 {
		fmt.Fprintf(&lines, "{\"n\": %d, \"s\": \"a\\\\b\\\"{},\"}\n\n", i)
	}
	if _, err := post(lines.String() + "no JSON\n"); err == nil {
		t.Error("a line that is no JSON was posted")
	}
	if n := ask(t, dsn, "select count(*)::text from mbus4.messages_of('orders', amt => 5000)"); n != "0" {
		t.Errorf("%s were posted of a text that is broken", n)
	}
	out, err := post(lines.String())
	if err != nil || strings.Count(out, "\n") != 1201 {
		t.Fatalf("%v, %d lines", err, strings.Count(out, "\n"))
	}
	iids := strings.Fields(out)
	if got := ask(t, dsn, fmt.Sprintf(`select concat(payload->>'n', payload->>'s') from mbus4.peek_json('%s')`, iids[777])); got != `777a\b"{},` {
		t.Errorf("the 778th is %s", got)
	}
}

// TestConsumeCommits: a message is gone only when it was written, and a wait ends with what comes or with a signal.
func TestConsumeCommits(t *testing.T) {
	t.Parallel()
	dsn := served(t, "consumes")
	do(t, dsn, "select mbus4.post('orders', payload => '1', iid => 'kept')")
	there := func() string { return ask(t, dsn, "select mbus4.is_msg_exists('kept')::text") }
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	defer w.Close()
	for name, to := range map[string]*os.File{"a full disk": full, "a pipe that nobody reads": w} {
		cmd := exec.Command(os.Args[0], "consume", "orders", "--dsn", dsn)
		cmd.Env, cmd.Stdout = append(os.Environ(), asProgram+"=1"), to
		if err := cmd.Run(); err == nil {
			t.Errorf("%s: it went well", name)
		}
		if there() != "true" {
			t.Fatalf("%s has swallowed the message", name)
		}
	}
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := exec.Command(os.Args[0], "consume", "orders", "--dsn", dsn, "--output", "csv")
	cmd.Env, cmd.Stdout = append(os.Environ(), asProgram+"=1"), file
	if err := cmd.Run(); err != nil || there() != "false" {
		t.Errorf("to a file: %v, there: %s", err, there())
	}
	if text, err := os.ReadFile(file.Name()); err != nil || !strings.HasPrefix(string(text), "iid,added,") || !strings.Contains(string(text), "\nkept,") {
		t.Errorf("the file has %s, %v", text, err)
	}

	waiting := func() *program {
		p := start(t, nil, "consume", "orders", "--wait", "10min", "--output", "csv", "--dsn", dsn+" application_name=waits_"+fmt.Sprint(time.Now().UnixNano()))
		name := p.cmd.Args[len(p.cmd.Args)-1]
		name = name[strings.LastIndex(name, "=")+1:]
		for ask(t, server.DSN("consumes"), fmt.Sprintf("select count(*)::text from pg_stat_activity where application_name = '%s' and state = 'idle in transaction'", name)) != "1" {
			select {
			case <-p.ended:
				t.Fatalf("it does not wait: %s", p.log)
			default:
			}
		}
		return p
	}
	p := waiting()
	do(t, dsn, "select mbus4.post('orders', payload => '2', iid => 'late')")
	p.wantStatus(0)
	if !strings.Contains(p.out.String(), "late,") {
		t.Errorf("what came is %s", p.out)
	}
	p = waiting()
	p.signal(syscall.SIGINT)
	p.wantStatus(exitInterrupted)
	if p.out.String()+p.log.String() != "" {
		t.Errorf("interrupted: %s%s", p.out, p.log)
	}
}

// TestClientsMisused: what is asked wrongly, and what the server, the proxy and the network say, in
// a sentence with a hint.
func TestClientsMisused(t *testing.T) {
	t.Parallel()
	dsn := served(t, "misused")
	do(t, server.DSN("postgres"), "create role misused_reader login")
	for _, c := range []struct {
		args           []string
		status         int
		sentence, hint string
	}{
		{[]string{"post"}, exitUsage, "an argument is missing: a queue", "mbusproxy post -h"},
		{[]string{"post", "orders"}, exitUsage, "either JSON or --data", "post -h"},
		{[]string{"post", "orders", "{}", "--data", "a=>1"}, exitUsage, "either JSON or --data", "post -h"},
		{[]string{"post", "orders", "{}", "--delay", "1s", "--delayed-until", "now"}, exitUsage, "--delay and --delayed-until cannot be used together", "post -h"},
		{[]string{"post", "orders", "{}", "--lines"}, exitUsage, "--lines takes", "post -h"},
		{[]string{"post", "orders", ""}, exitUsage, "the payload is empty", "post -h"},
		{[]string{"post", "orders", "{}", "--iid", ""}, exitUsage, "--iid must not be empty", "post -h"},
		{[]string{"post", "orders", "{}", "--unique-key=", "--unique-for=1h"}, exitUsage, "--unique-key must not be empty", "post -h"},
		{[]string{"post", "orders", "a=>1"}, exitFailure, "the payload is not valid JSON", "--data"},
		{[]string{"post", "nosuch", "1"}, exitFailure, `42704: queue "nosuch" does not exist`, "create_queue"},
		{[]string{"post", "no\x1b[2Jsuch", "1"}, exitFailure, `no\x1b[2jsuch`, "create_queue"},
		{[]string{"queues", "nosuch"}, exitFailure, `42704: there is no queue "nosuch"`, "mbusproxy queues"},
		{[]string{"queues", "a", "b"}, exitUsage, `unexpected argument "b"`, "mbusproxy queues -h"},
		{[]string{"queues", "--output", "xml"}, exitUsage, "--output is table, json or csv", "queues -h"},
		{[]string{"peek", "orders", "--state", "odd"}, exitFailure, "22P02", ""},
		{[]string{"peek", "orders", "--iid", "x"}, exitUsage, "--iid cannot be used together with a queue", "peek -h"},
		{[]string{"peek", "--iid", "x"}, exitNothing, "there is no message with this iid", "where-is-my-message"},
		{[]string{"why", "x"}, exitNothing, "no undelivered message has this iid", "where-is-my-message"},
		{[]string{"why"}, exitUsage, "an argument is missing: the iid", "why -h"},
		{[]string{"why", "x", "--circles"}, exitUsage, "--circles cannot be used together with an iid", "why -h"},
		{[]string{"consume", "orders", "--count", "0"}, exitUsage, "--count", "consume -h"},
		{[]string{"consume", "orders", "--wait", "soon"}, exitFailure, "22007", ""},
		{[]string{"dead"}, exitUsage, "dead needs one of", "mbusproxy dead -h"},
		{[]string{"dead", "list", "--limit", "-1"}, exitUsage, "--limit", "mbusproxy dead list -h"},
		{[]string{"top", "--interval", "1ms"}, exitUsage, "--interval", "top -h"},
		{[]string{"queues", "--dsn", "host=127.0.0.1 port=1"}, exitFailure, "cannot connect: ", "--dsn or PGHOST"},
		{[]string{"queues", "--dsn", "nonsense"}, exitFailure, "the DSN cannot be used", "postgresql://"},
		{[]string{"why", "x", "--dsn", server.DSN("misused")}, exitFailure, "42883: function mbus4.why", "go through the proxy"},
		{[]string{"queues", "--dsn", server.DSN("template1")}, exitFailure, "3F000", "go through the proxy"},
		{[]string{"queues", "--dsn", strings.Replace(dsn, "user=postgres", "user=misused_reader", 1)}, exitFailure, "42501", "mbus4_user"},
	} {
		p := run1(t, []string{"MBUS_DSN=" + dsn}, c.args...)
		if c.hint != "" {
			p.wantFailure(c.status, c.sentence, c.hint)
			continue
		}
		p.wantStatus(c.status)
		if !strings.Contains(p.log.String(), c.sentence) {
			t.Errorf("%q: %s", c.args, p.log)
		}
	}
}

// TestHostileTexts: nothing of a message that a terminal would obey is written by any command in
// any format for people or machines, but CSV to a file.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	dsn := served(t, "hostile")
	const evil = "\x1b]0;x\x07\x1b[2J\u009b31m\x7f\r\b\u202e"
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), "select mbus4.post('orders', payload => pg_catalog.to_jsonb($1::text), headers => hstore('h', $1), properties => hstore($1, 'p'), iid => $1)", evil); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "select mbus4.post('dmq', hstore($1, $1), hstore(array['destination', 'orders', 'dmq.error', $1]))", evil); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "select mbus4.post('orders', '', hstore('consume_after', array[$1]::text), iid => $1)", evil+"self"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"peek", "orders"}, {"peek", "--iid", evil}, {"why", evil}, {"why", "--circles"}, {"dead", "list"}, {"dead", "list", "orders"}, {"queues", "orders"}, {"queues", evil}, {"top"}, {"consume", "orders"}} {
		for _, format := range []string{"table", "json"} {
			if args[0] == "consume" && format == "table" {
				continue
			}
			p := run1(t, nil, append(args, "--output", format, "--dsn", dsn)...)
			if text := p.out.String() + p.log.String(); strings.ContainsAny(text, evil[:1]+"\x07\u009b\x7f\r\b\u202e") || text == "" {
				t.Errorf("%q writes %q", args, text)
			}
		}
	}
}
