package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nothingLeft checks that a run has left neither queue, schema nor message.
func nothingLeft(t *testing.T, database string) {
	t.Helper()
	dsn := server.DSN(database)
	got := ask(t, dsn, `select concat_ws(', ', (select string_agg(qname, ' ') from mbus4.queue where qname like 'mbusproxy%'), (select string_agg(nspname, ' ') from pg_namespace where nspname like 'mbusproxy%'),
		(select nullif(count(*), 0) from mbus4.message where consumer_id in (select id from mbus4.consumer where qname like 'mbusproxy%')))`)
	if got != "" {
		t.Errorf("left: %s", got)
	}
}

// benched waits until a run is under way in its first phase.
func benched(t *testing.T, p *program, database string) {
	t.Helper()
	for ask(t, server.DSN(database), `select (exists (select from pg_namespace where nspname like 'mbusproxy_bench_%')
		and (select count(*) from pg_stat_activity where datname = current_database() and application_name = 'mbusproxy bench') > 6)::text`) != "true" {
		select {
		case <-p.ended:
			t.Fatalf("it has ended: %s%s", p.out, p.log)
		default:
		}
	}
}

// TestBench runs all phases, with figures that make sense, a picture that is one, and nothing left.
func TestBench(t *testing.T) {
	t.Parallel()
	dsn := served(t, "benched")
	svg := filepath.Join(t.TempDir(), "out.svg")
	rows := document(t, 0, dsn, "bench", "--duration", "1500ms", "--rate", "40", "--consumers", "4", "--posters", "2", "--svg", svg)
	want := []string{"clean", "saturated", "held xmin", "scanners", "overload", "recovery"}
	if len(rows) != len(want) {
		t.Fatalf("phases: %v", rows)
	}
	for i, row := range rows {
		posted, consumed := row["posted_per_second"].(float64), row["consumed_per_second"].(float64)
		fixed := map[string]float64{"clean": 40, "held xmin": 40, "scanners": 40, "overload": 60, "recovery": 40}[want[i]]
		if row["phase"] != want[i] || row["seconds"].(float64) < 1.5 || consumed <= 0 || row["p99_ms"].(float64) < row["p50_ms"].(float64) || row["p50_ms"].(float64) <= 0 {
			t.Errorf("%v", row)
		}
		if fixed > 0 && (posted <= 0 || posted > fixed*1.1) {
			t.Errorf("posted faster than %v: %v", fixed, row)
		}
		if row["depth"].(float64) > row["max_depth"].(float64) || row["dead_rows_per_second"].(float64) < 0 {
			t.Errorf("%v", row)
		}
	}
	file, err := os.Open(svg)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for d := xml.NewDecoder(file); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	nothingLeft(t, "benched")
	if n := ask(t, server.DSN("benched"), "select count(*)::text from mbus4.message"); n != "0" {
		t.Errorf("%s messages are left", n)
	}
}

// TestBenchStopped: a run that a signal or an error ends has removed what it made, too.
func TestBenchStopped(t *testing.T) {
	t.Parallel()
	dsn := served(t, "stopped")
	args := []string{"bench", "--duration", "1m", "--rate", "50", "--consumers", "6", "--posters", "2", "--dsn", dsn}
	p := start(t, nil, args...)
	benched(t, p, "stopped")
	p.signal(syscall.SIGINT)
	p.wantStatus(exitInterrupted)
	nothingLeft(t, "stopped")

	p = start(t, nil, args...)
	benched(t, p, "stopped")
	do(t, server.DSN("stopped"), "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'mbusproxy bench'")
	p.wantStatus(exitFailure)
	if !strings.Contains(p.log.String(), "mbusproxy: ") {
		t.Errorf("it says %s", p.log)
	}
	nothingLeft(t, "stopped")
	if p.out.String() != "" {
		t.Errorf("it prints %s", p.out)
	}
}

// TestBenchMisused: without a proxy, without rights, with flags that make no sense.
func TestBenchMisused(t *testing.T) {
	t.Parallel()
	dsn := served(t, "nobench")
	do(t, server.DSN("postgres"), "create role nobench login")
	run1(t, nil, "bench", "--dsn", server.DSN("nobench")).wantFailure(exitFailure, "42883: function mbus4.create_queue", "go through the proxy")
	run1(t, nil, "bench", "--dsn", strings.Replace(dsn, "user=postgres", "user=nobench", 1)).wantFailure(exitFailure, "42501", "mbus4_admin")
	for given, sentence := range map[string]string{
		"--duration=1ms": "--duration must be at least 100ms", "--rate=0": "--rate must be positive", "--work=-1s": "--work cannot be negative",
		"--consumers=0": "must be between 1 and 1000", "--posters=-1": "must be between 1 and 1000", "--size=-1": "--size must be between 0 and",
	} {
		run1(t, nil, "bench", given, "--dsn", dsn).wantFailure(exitUsage, sentence, "mbusproxy bench -h")
	}
	run1(t, nil, "bench", "--svg", "/nosuch/dir/x.svg", "--dsn", dsn).wantStatus(exitFailure)
	nothingLeft(t, "nobench")
}
