package rewrite

import (
	"strings"
	"testing"

	"mbusproxy/rewrite/plan"
)

// TestProcedurePreludes: the prelude statement stands for the statement, with its tag if it is the only one.
func TestProcedurePreludes(t *testing.T) {
	for _, c := range []struct {
		sql   string
		texts [][]string
		want  string
		tag   string
	}{
		{"call mbus4.process_queue(1)", [][]string{{"do 'a'"}}, "do 'a'", "CALL"},
		{" ; /* é */ CALL mbus4.process_queue(1, 'x') ;; -- end", [][]string{{"do 'a'"}}, " ; /* é */ do 'a' ;; -- end", "CALL"},
		{"select 1; call mbus4.process_queue(1)", [][]string{{"do 'a'"}}, "select 1; do 'a'", ""},
		{"call mbus4.process_queue(1); call mbus4.process_queue(2); commit", [][]string{{"do 'a'"}, {"do 'b'"}}, "do 'a'; do 'b'; commit", ""},
		{
			"select mbus4.run_on_q('x'); call mbus4.process_queue(1)",
			[][]string{{"do 'a'"}, {"do 'b'"}},
			`do 'a'; select outcome(1)::integer as "run_on_q"; do 'b'`, "",
		},
		{
			"call mbus4.process_queue(1); select mbus4.run_on_q('x')",
			[][]string{{"do 'a'"}, {"do 'b'"}},
			`do 'a'; do 'b'; select outcome(2)::integer as "run_on_q"`, "",
		},
	} {
		p := newRewriter(shortFragments{}).Rewrite(t.Context(), c.sql, utf8Session, testEnv)
		if !p.EndsTransaction() || p.Tag() != "" || !p.BindTime() {
			t.Errorf("%s: ends transaction %t, tag %q, late %t", c.sql, p.EndsTransaction(), p.Tag(), p.BindTime())
		}
		q := p.WithPreludes(c.texts)
		if q.SQL() != c.want || q.Tag() != c.tag || q.BindTime() {
			t.Errorf("%s gives\n%s, tag %q, want\n%s, tag %q", c.sql, q.SQL(), q.Tag(), c.want, c.tag)
		}
		checkSegments(t, c.sql, q)
		// What the server says of the prelude statement is about the call.
		at := len([]rune(c.sql[:strings.Index(c.sql, "mbus4.")])) + 1
		rep := &plan.Report{Code: "42601", Position: len([]rune(q.SQL()[:strings.Index(q.SQL(), "do 'a'")])) + 4}
		if !q.EditReport(rep) || rep.Position != at {
			t.Errorf("%s: a report points at %d", c.sql, rep.Position)
		}
		at = len([]rune(c.sql[:strings.Index(c.sql, "mbus4.process")])) + 1
		rep = &plan.Report{Code: "2D000", Where: "function inline_code_block"}
		if !q.EditReport(rep) || rep.Position != at || rep.Where != "" || !strings.HasPrefix(rep.Hint, "mbus4.process_queue commits: ") {
			t.Errorf("%s: %+v", c.sql, rep)
		}
		for _, s := range p.Preludes() {
			rep, procedure := &plan.Report{Code: "2D000"}, s.Func.Procedure
			if !plan.PreludePlan(p, s.Call, "do 'x'", nil).EditReport(rep) || rep.Position == 0 || procedure != (rep.Hint != "") {
				t.Errorf("%s, prelude statement %d: %+v", c.sql, s.Call, rep)
			}
		}
	}
	for _, sql := range []string{"select mbus4.run_on_q('x')", "select mbus4.post('q', '')"} {
		p := newRewriter(shortFragments{}).Rewrite(t.Context(), sql, utf8Session, testEnv)
		if p.EndsTransaction() || p.Tag() != "" {
			t.Errorf("%s: ends transaction %t, tag %q", sql, p.EndsTransaction(), p.Tag())
		}
	}
}

// TestProcedureReport: a cast that does not exist is, to the client, a procedure that does not.
func TestProcedureReport(t *testing.T) {
	const sql = "call mbus4.process_queue($1)"
	p := newRewriter(shortFragments{}).Rewrite(t.Context(), sql, utf8Session, testEnv)
	rep := &plan.Report{Code: "42846", Message: "cannot cast type date to integer", Position: 1 + strings.Index(p.SQL(), "::integer")}
	if !p.EditReport(rep) || rep.Code != "42883" || rep.Message != "procedure mbus4.process_queue does not exist with these arguments" ||
		rep.Hint != "The procedure is mbus4.process_queue(current_process_id integer, handler text default null, max_attempts integer default null, "+
			"backoff interval default null, max_backoff interval default null, jitter double precision default null)." ||
		rep.Detail != "cannot cast type date to integer" {
		t.Errorf("gives %+v", rep)
	}
}
