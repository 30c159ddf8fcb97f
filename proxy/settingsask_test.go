package proxy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// telling is a Rewriter that has each text with mbus4 tell under which settings it was read.
type telling struct{ stepping }

func (r *telling) Mentions(text []byte) bool { return strings.Contains(string(text), "mbus4") }

func (r *telling) Rewrite(_ context.Context, sc StatementContext, _ string) Plan {
	return &steppingPlan{rewriter: &r.stepping, name: "plan", text: fmt.Sprintf("select '%t %s'", sc.EscapeStrings, sc.Encoding)}
}

// TestSettingsInAPipeline: a text is read as the server will read it, also where what was sent before changes
// how, and no reply has come.
func TestSettingsInAPipeline(t *testing.T) {
	const off = "set standard_conforming_strings = off"
	const sjis = "set client_encoding to sjis"
	const tell = `select '\' /*mbus4*/`
	const tellSJIS = "select '\x83\x5c' /*mbus4*/"
	run := func(name, text string) []pgproto3.FrontendMessage {
		return msgs(parse(name, text), bind("", name), execute(""))
	}
	join := func(m ...[]pgproto3.FrontendMessage) (all []pgproto3.FrontendMessage) {
		for _, part := range m {
			all = append(all, part...)
		}
		return all
	}
	end := msgs(sync1())
	bad := run("", "select 1/(g - 1) from generate_series(1, 1) g")
	cases := map[string]struct {
		send []pgproto3.FrontendMessage
		want string // what the last row says
	}{
		"Query":                     {msgs(query(off), query(tell)), "true UTF8"},
		"Query, encoding":           {msgs(query(sjis), query(tellSJIS)), "false SJIS"},
		"DO":                        {msgs(query("do $$ begin perform set_config('standard_conforming_strings', 'off', false); end $$"), query(tell)), "true UTF8"},
		"extended":                  {join(run("", off), run("", tell), end), "true UTF8"},
		"extended, encoding":        {join(run("", sjis), run("", tellSJIS), end), "false SJIS"},
		"extended, Sync between":    {join(run("", off), end, run("", tell), end), "true UTF8"},
		"extended, then Query":      {join(run("", off), msgs(query(tell))), "true UTF8"},
		"Query, then extended":      {join(msgs(query(off)), run("", tell), end), "true UTF8"},
		"prepared long ago":         {join(msgs(parse("s", off)), end, run("", "select 1"), msgs(bind("", "s"), execute("")), run("", tell), end), "true UTF8"},
		"rolled back":               {msgs(query("begin"), query(off), query("rollback"), query(tell)), "false UTF8"},
		"set, then failed":          {msgs(query("begin"), query(off), query("select 1/0"), query("rollback"), query(tell)), "false UTF8"},
		"skipped":                   {join(bad, run("", off), end, run("", tell), end), "false UTF8"},
		"skipped with the text":     {join(bad, run("", off), run("", tell), end, msgs(query(off), query(tell))), "true UTF8"},
		"in a failed transaction":   {join(msgs(query("begin"), query("select 1/0"), query(tell), query("rollback"), query(tell))), "false UTF8"},
		"within one Query":          {msgs(query(off + "; " + tell)), "false UTF8"},
		"nothing changes":           {join(run("", "select 1"), run("", tell), end), "false UTF8"},
		"back and forth":            {msgs(query(off), query(tell), query("set standard_conforming_strings = on"), query(tell)), "false UTF8"},
		"text without a difference": {msgs(query(sjis), query("select 1 /*mbus4*/")), "false UTF8"}, // read before the reply, and no harm in it
		"COPY between":              {join(msgs(query("copy items from stdin"), &pgproto3.CopyDone{}, query(off), query(tell))), "true UTF8"},
	}
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter, c.TLS = new(telling), shared.serverTLS() })
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				for _, secure := range []bool{false, true} {
					w := dialWire(t, p.addr)
					if secure {
						overTLS(w)
					}
					w.startup("user", "postgres", "database", "postgres", "client_encoding", "UTF8")
					w.until('Z')
					w.send(c.send...)
					w.send(query("select 'end'"))
					var all string
					for got := ""; !strings.Contains(got, `DataRow ["end"]`); {
						got = w.until('Z')
						all += got + "\n"
					}
					rows := strings.Split(all, "DataRow ")
					if name == "text without a difference" && strings.Contains(all, "SJIS") {
						continue // the reply was faster
					}
					if len(rows) < 3 || !strings.HasPrefix(rows[len(rows)-2], `["`+c.want) {
						t.Errorf("secure %t: want %s\n%s", secure, c.want, all)
					}
				}
			})
		}
	})
	// The server reads all of a Query under the settings with which it began.
	w := login(t, fmt.Sprintf("127.0.0.1:%d", shared.cluster.Port()))
	if got := w.query(off + `; select length('a\\')`); !strings.Contains(got, `["3"]`) {
		t.Error(got)
	}
}
