package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// do runs statements through a connection of its own.
func do(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, sql := range statements {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// explainInput runs mbusproxy explain with standard input, and returns standard output.
func explainInput(t *testing.T, input string, args ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"explain"}, args...)...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return string(out)
}

func TestExplainCommand(t *testing.T) {
	t.Parallel()
	const post = "select mbus4.post('q', 'a=>1')"
	p := run1(t, nil, "explain", post)
	p.wantStatus(0)
	for _, want := range []string{
		"-- for a database without messages", "-- line 1, column 8: mbus4.post(qname text, data hstore", "inline", "'1 _session_secret_'",
		"\nwith mbus4_call1_args(n, ", ";\n",
	} {
		if !strings.Contains(p.out.String(), want) {
			t.Errorf("no %q in\n%s", want, p.out)
		}
	}
	if p.log.String() != "" {
		t.Errorf("it complains:\n%s", p.log)
	}
	for _, args := range [][]string{nil, {"-"}} {
		if got := explainInput(t, post, args...); got != p.out.String() {
			t.Errorf("%v: from standard input it is\n%s", args, got)
		}
	}
	behind := run1(t, nil, "explain", "select mbus4.run_on_q($1)", "--prepared")
	behind.wantStatus(0)
	if !strings.Contains(behind.out.String(), "whenever it is bound") {
		t.Errorf("a flag behind the statement is not seen:\n%s", behind.out)
	}
}

func TestExplainRefusal(t *testing.T) {
	t.Parallel()
	p := run1(t, nil, "explain", "begin; select mbus4.post(); commit")
	p.wantStatus(1)
	if out := p.out.String(); !strings.Contains(out, "-- ERROR:  42883: function mbus4.post() does not exist\n") || !strings.Contains(out, "-- HINT:  The function is mbus4.post(") {
		t.Errorf("got\n%s", out)
	}
	if want := "mbusproxy: a statement is refused with 42883: function mbus4.post() does not exist\n"; p.log.String() != want {
		t.Errorf("got %s", p.log)
	}
	run1(t, nil, "explain", "select mbus4.post(").wantFailure(1, "the text cannot be read: syntax error", "Postgres 17")
}

// TestExplainJSON: what the text says is there as JSON, for each statement.
func TestExplainJSON(t *testing.T) {
	t.Parallel()
	explained := func(status int, args ...string) (list []map[string]any) {
		t.Helper()
		p := run1(t, nil, append([]string{"explain", "--output", "json"}, args...)...)
		p.wantStatus(status)
		if err := json.Unmarshal([]byte(p.out.String()), &list); err != nil {
			t.Fatalf("%v in %s", err, p.out)
		}
		return list
	}
	const several = "begin;\nselect mbus4.post('q', 'a=>1');\nselect mbus4.post();\ncommit"
	list := explained(1, several)
	if len(list) != 4 {
		t.Fatalf("%d statements", len(list))
	}
	outcomes := []string{"forwarded", "served", "refused", "forwarded"}
	for i, s := range list {
		if s["statement"] != float64(i+1) || s["outcome"] != outcomes[i] || !strings.HasPrefix(s["for"].(string), "for a database without messages") {
			t.Errorf("%v", s)
		}
	}
	call := list[1]["calls"].([]any)[0].(map[string]any)
	if call["line"] != 2.0 || call["column"] != 8.0 || !strings.HasPrefix(call["function"].(string), "mbus4.post(qname text") || call["served"] != "inline, by WITH queries" {
		t.Errorf("%v", call)
	}
	if sql := list[1]["sql"].(string); !strings.HasPrefix(sql, "with mbus4_call1_args(n, ") || !strings.HasSuffix(sql, ";\n") {
		t.Errorf("%s", sql)
	}
	refusal := list[2]["refusals"].([]any)[0].(map[string]any)
	if refusal["sqlstate"] != "42883" || refusal["line"] != 3.0 || refusal["message"] != "function mbus4.post() does not exist" || refusal["hint"] == nil {
		t.Errorf("%v", refusal)
	}
	one := explained(0, "select * from mbus4.consume('q', wait => '1 s')")[0]
	if one["waits"] != true || !slices.Equal(one["prepared_parameters"].([]any), []any{"q", "1 s"}) && !slices.Equal(one["prepared_parameters"].([]any), []any{"q"}) {
		t.Errorf("%v", one)
	}
	if one := explained(0, "select 1")[0]; one["outcome"] != "forwarded" || one["sql"] != "select 1;\n" || one["prepared_parameters"] != nil {
		t.Errorf("%v", one)
	}
	if one := explained(0, "--unqualified", "all", "select post('q', '')")[0]; one["outcome"] != "served" || !strings.Contains(one["asked_first"].(string), "post") {
		t.Errorf("%v", one)
	}
	if one := explained(0, "--prepared", "select mbus4.run_on_q('select 1')")[0]; !strings.HasPrefix(one["before"].(string), "do ") {
		t.Errorf("%v", one)
	}
	if one := explained(1, "select mbus4.post(")[0]; one["outcome"] != "unread" {
		t.Errorf("%v", one)
	}
	run1(t, nil, "explain", "--output", "csv", "select 1").wantFailure(2, "--output is text or json, not csv", "mbusproxy explain -h")
}

func TestExplainLooksAtTheDatabase(t *testing.T) {
	t.Parallel()
	do(t, server.DSN("postgres"), "create database explained")
	dsn := server.DSN("explained")
	const post = "select mbus4.post('q', 'a=>1')"
	run1(t, nil, "explain", "--admin", dsn, post).wantFailure(1, `database "explained" has no schema mbus4`, "mbusproxy init")
	if got := ask(t, dsn, "select coalesce(to_regnamespace('mbus4')::text, 'none')"); got != "none" {
		t.Errorf("explain made schema %s", got)
	}
	do(t, dsn, "create schema ext", "create extension hstore schema ext")
	run1(t, nil, "init", "--admin", dsn).wantStatus(0)
	p := run1(t, []string{"MBUS_ADMIN=" + dsn}, "explain", post)
	p.wantStatus(0)
	if !strings.HasPrefix(p.out.String(), "-- for database explained: without messages") || strings.Contains(p.out.String(), "ext.hstore") {
		t.Errorf("got\n%s", p.out)
	}
	_, proxied := startServe(t)
	do(t, strings.Replace(proxied, "dbname=postgres", "dbname=explained", 1),
		"select mbus4.create_queue('q', 1)", "select mbus4.post('q', '', iid => 'first')", "select mbus4.post('q', '', 'consume_after=>{first}')")
	p = run1(t, nil, "explain", "--admin", dsn, post)
	p.wantStatus(0)
	if !strings.HasPrefix(p.out.String(), "-- for database explained: with messages") {
		t.Errorf("got\n%s", p.out)
	}
	run1(t, nil, "explain", "--admin", "host=127.0.0.1 port=1", post).wantFailure(1, "cannot reach database", "--admin")
}
