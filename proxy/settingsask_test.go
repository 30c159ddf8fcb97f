package proxy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/statements"
)

// telling is a Rewriter that has each text with mbus4 tell under which settings it was read.
type telling struct{ proxytest.Stepping }

func (r *telling) Mentions(text []byte) bool { return strings.Contains(string(text), "mbus4") }

func (r *telling) Rewrite(_ context.Context, sc statements.Context, _ string) statements.Plan {
	return &proxytest.SteppingPlan{Rewriter: &r.Stepping, Name: "plan", Text: fmt.Sprintf("select '%t %s'", sc.EscapeStrings, sc.Encoding)}
}

// TestSettingsInAPipeline: a text is read as the server will read it, also where what was sent before changes
// how, and no reply has come.
func TestSettingsInAPipeline(t *testing.T) {
	const off = "set standard_conforming_strings = off"
	const sjis = "set client_encoding to sjis"
	const tell = `select '\' /*mbus4*/`
	const tellSJIS = "select '\x83\x5c' /*mbus4*/"
	run := func(name, text string) []pgproto3.FrontendMessage {
		return proxytest.Messages(proxytest.Parse(name, text), proxytest.Bind("", name), proxytest.Execute(""))
	}
	join := func(m ...[]pgproto3.FrontendMessage) (all []pgproto3.FrontendMessage) {
		for _, part := range m {
			all = append(all, part...)
		}
		return all
	}
	end := proxytest.Messages(proxytest.Sync())
	bad := run("", "select 1/(g - 1) from generate_series(1, 1) g")
	cases := map[string]struct {
		send []pgproto3.FrontendMessage
		want string // what the last row says
	}{
		"Query":                     {proxytest.Messages(proxytest.Query(off), proxytest.Query(tell)), "true UTF8"},
		"Query, encoding":           {proxytest.Messages(proxytest.Query(sjis), proxytest.Query(tellSJIS)), "false SJIS"},
		"DO":                        {proxytest.Messages(proxytest.Query("do $$ begin perform set_config('standard_conforming_strings', 'off', false); end $$"), proxytest.Query(tell)), "true UTF8"},
		"extended":                  {join(run("", off), run("", tell), end), "true UTF8"},
		"extended, encoding":        {join(run("", sjis), run("", tellSJIS), end), "false SJIS"},
		"extended, Sync between":    {join(run("", off), end, run("", tell), end), "true UTF8"},
		"extended, then Query":      {join(run("", off), proxytest.Messages(proxytest.Query(tell))), "true UTF8"},
		"Query, then extended":      {join(proxytest.Messages(proxytest.Query(off)), run("", tell), end), "true UTF8"},
		"prepared long ago":         {join(proxytest.Messages(proxytest.Parse("s", off)), end, run("", "select 1"), proxytest.Messages(proxytest.Bind("", "s"), proxytest.Execute("")), run("", tell), end), "true UTF8"},
		"rolled back":               {proxytest.Messages(proxytest.Query("begin"), proxytest.Query(off), proxytest.Query("rollback"), proxytest.Query(tell)), "false UTF8"},
		"set, then failed":          {proxytest.Messages(proxytest.Query("begin"), proxytest.Query(off), proxytest.Query("select 1/0"), proxytest.Query("rollback"), proxytest.Query(tell)), "false UTF8"},
		"skipped":                   {join(bad, run("", off), end, run("", tell), end), "false UTF8"},
		"skipped with the text":     {join(bad, run("", off), run("", tell), end, proxytest.Messages(proxytest.Query(off), proxytest.Query(tell))), "true UTF8"},
		"in a failed transaction":   {join(proxytest.Messages(proxytest.Query("begin"), proxytest.Query("select 1/0"), proxytest.Query(tell), proxytest.Query("rollback"), proxytest.Query(tell))), "false UTF8"},
		"failed, without a Sync":    {join(proxytest.Messages(proxytest.Query("begin"), proxytest.Query("select 1/0"), &pgproto3.Close{ObjectType: 'P'}, proxytest.Query(tell), &pgproto3.Close{ObjectType: 'P'}, proxytest.Query("rollback"), proxytest.Query(tell))), "false UTF8"},
		"within one Query":          {proxytest.Messages(proxytest.Query(off + "; " + tell)), "false UTF8"},
		"nothing changes":           {join(run("", "select 1"), run("", tell), end), "false UTF8"},
		"back and forth":            {proxytest.Messages(proxytest.Query(off), proxytest.Query(tell), proxytest.Query("set standard_conforming_strings = on"), proxytest.Query(tell)), "false UTF8"},
		"text without a difference": {proxytest.Messages(proxytest.Query(sjis), proxytest.Query("select 1 /*mbus4*/")), "false UTF8"}, // read before the reply, and no harm in it
		"COPY between":              {join(proxytest.Messages(proxytest.Query("copy items from stdin"), &pgproto3.CopyDone{}, proxytest.Query(off), proxytest.Query(tell))), "true UTF8"},
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
					w.send(proxytest.Query("select 'end'"))
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
