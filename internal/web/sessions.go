package web

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/proxy/relay"
)

func (p *Page) sessionViews() []*view {
	return []*view{{path: Path + "sessions", sheet: "sessions.html", nav: "Sessions", every: 3 * time.Second, anywhere: true, load: loadSessions}}
}

func (p *Page) sessionForms() []*form {
	return []*form{{path: Path + "sessions/end", run: endSession}}
}

// sessionsSheet is what sessions.html shows.
type sessionsSheet struct {
	Role   Text // whose members see the proxy's own; "": nobody
	Proxy  []proxySession
	Server []serverSession
	More   int
}

// proxySession is a session of the proxy's, with what the server says of it.
type proxySession struct {
	relay.Observation
	User, Database, Client Text
	Call                   Text
	State                  string
	Age                    float64
	Server                 *serverSession // nil: the server does not know it, or not to this role
}

// serverSession is a row of pg_stat_activity, as far as the role may see it.
type serverSession struct {
	PID                            int32
	User, Application, State, Wait Text
	Transaction, InState           float64 // seconds; less than 0: none, or not to be seen
	Pins                           int64   // how many transactions old the oldest snapshot is; less than 0: none
	Query                          Text
}

const activitySQL = `select a.pid, coalesce(a.usename::text, '') as usename, coalesce(a.application_name, '') as application, coalesce(a.state, '') as state, coalesce(a.wait_event_type operator(pg_catalog.||) ': ' operator(pg_catalog.||) a.wait_event, '') as wait,
	coalesce(extract(epoch from pg_catalog.clock_timestamp() operator(pg_catalog.-) a.xact_start)::float8, -1) as transaction, coalesce(extract(epoch from pg_catalog.clock_timestamp() operator(pg_catalog.-) a.state_change)::float8, -1) as in_state,
	coalesce(pg_catalog.age(a.backend_xmin), -1)::bigint as pins, coalesce(pg_catalog."left"(a.query, 300), '') as query
from pg_catalog.pg_stat_activity a
where a.datname operator(pg_catalog.=) pg_catalog.current_database() and coalesce(a.backend_type, 'client backend') operator(pg_catalog.=) 'client backend' and a.pid operator(pg_catalog.<>) pg_catalog.pg_backend_pid()
order by a.xact_start nulls last, a.pid
limit 500`

// mostSessions is how many sessions are shown.
const mostSessions = 300

func loadSessions(c *call) (*shown, error) {
	s := &sessionsSheet{Role: Text(c.page.cfg.ConsoleRole)}
	var err error
	if s.Server, err = collect[serverSession](c, activitySQL); err != nil {
		return nil, err
	}
	if c.may.Process {
		known := map[uint32]*serverSession{}
		for i := range s.Server {
			known[uint32(s.Server[i].PID)] = &s.Server[i]
		}
		all := c.page.cfg.Proxy().Sessions
		slices.SortFunc(all, func(a, b relay.Observation) int { return a.Since.Compare(b.Since) })
		if s.More = len(all) - mostSessions; s.More > 0 {
			all = all[:mostSessions]
		}
		for _, o := range all {
			s.Proxy = append(s.Proxy, proxySession{
				Observation: o, User: Text(o.User), Database: Text(o.Database), Client: Text(o.Client), Call: Text(o.Call), State: o.State.String(), Age: time.Since(o.Since).Seconds(), Server: known[o.ServerPID],
			})
		}
	}
	return &shown{title: "Sessions", body: s}, nil
}

// endSession ends a session of the proxy's: whoever may see them all may.
func endSession(s *submission) (to, told string, err error) {
	id, err := strconv.ParseUint(s.value("session"), 10, 64)
	if err != nil {
		return "", "", &problem{http.StatusBadRequest, "There is no such session", "It is a number.", ""}
	}
	end := func(rights func(context.Context, pgx.Tx) (*Rights, error)) func(context.Context, pgx.Tx) error {
		return func(ctx context.Context, tx pgx.Tx) error {
			may, err := rights(ctx, tx)
			switch {
			case err != nil:
				return err
			case !may.Process:
				return &problem{http.StatusForbidden, "Not allowed", "Only members of the console's role may end sessions.", ""}
			case !s.page.cfg.End(id):
				return &problem{http.StatusNotFound, "There is no such session", "It has ended already.", ""}
			}
			return nil
		}
	}
	err = s.change(audit{action: "end_session", detail: map[string]string{"session": s.value("session")}}, end(s.page.rights))
	if isAbsent(err) { // and no audit
		err = s.login.ViewServer(s.ctx, end(s.page.ownRights))
	}
	return Path + "sessions", "Session " + strconv.FormatUint(id, 10) + " was ended.", err
}
