package proxy

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
)

// TestLeftPortalCrashesNobody: to execute the unnamed portal that a failed Query has left in a
// transaction block lets the server read memory that is in use for something else by then. Servers
// up to 18 can be crashed by that, with all sessions of the cluster.
func TestLeftPortalCrashesNobody(t *testing.T) {
	const fails = "select 1/(2-i) from generate_series(1, 3) i"
	gone := errorLine("34000", `portal "" does not exist`) + failed
	eachWay(t, func(t *testing.T, way how) {
		for name, change := range map[string]func(*Config){
			"calls":    func(c *Config) { c.Rewriter = proxytest.Marking{} },
			"prepared": func(c *Config) { c.Rewriter = proxytest.Preparing{AtOnce: true} },
			"as it is": nil,
		} {
			t.Run(name, func(t *testing.T) {
				p := start(t, way, change)
				bystander := login(t, p.addr)
				for _, text := range []string{fails, proxytest.PreparingMark + fails} {
					for _, size := range []int{0, 3000, 7000, 9000} {
						w := login(t, p.addr)
						long := strings.Repeat("A", size)
						w.query("begin")
						w.query(text + " --" + long)
						// What overwrites the statement's memory.
						w.send(&pgproto3.Parse{Query: "--" + long + "\nrollback"}, proxytest.Execute(""), proxytest.Sync())
						if got := w.until('Z') + "\n"; got != parsed+gone {
							t.Errorf("got\n%swant\n%s", got, parsed+gone)
						}
						w.send(&pgproto3.Parse{Query: "select " + long}, proxytest.Sync(), proxytest.Execute(""), proxytest.Sync())
						w.until('Z')
						if got := w.until('Z') + "\n"; got != gone {
							t.Errorf("got\n%swant\n%s", got, gone)
						}
						_ = w.conn.Close()
					}
				}
				if got := bystander.query("select 'lives'"); !strings.Contains(got, "lives") {
					t.Error(got)
				}
			})
		}
	})
}
