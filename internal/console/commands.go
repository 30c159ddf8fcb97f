package console

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"mbusproxy/engine/circles"
	"mbusproxy/sqlfuncs"
)

// command is one that the console knows.
type command struct {
	words, help string
	run         func(s *session, ctx context.Context, argument string) (*table, error)
	argument    int // 0: none, 1: may have one, 2: must have one
}

const (
	noArgument = iota
	anArgument
	needsArgument
)

func commands() []command {
	return []command{
		{"SHOW HELP", "this list", (*session).help, noArgument},
		{"SHOW VERSION", "the proxy's version", (*session).version, noArgument},
		{"SHOW SESSIONS", "sessions of clients at this proxy, and what their servers do", (*session).sessions, noArgument},
		{"SHOW CLIENTS", "the same", (*session).sessions, noArgument},
		{"SHOW SERVERS", "the server processes of these sessions", (*session).servers, noArgument},
		{"SHOW STATS", "what this proxy has done", (*session).stats, noArgument},
		{"SHOW CONFIG", "the settings in force", (*session).config, noArgument},
		{"SHOW DATABASES", "the databases that this proxy serves", (*session).databases, noArgument},
		{"SHOW SERVICES", "how what runs in the background fares", (*session).services, noArgument},
		{"SHOW QUEUES", "the view mbus4.queues", view("select * from mbus4.queues order by queue"), noArgument},
		{"SHOW CONSUMERS", "the view mbus4.consumers", view("select * from mbus4.consumers order by queue, consumer"), noArgument},
		{"SHOW WAITING CALLS", "calls that wait for messages at this proxy", (*session).waitingCalls, noArgument},
		{"SHOW WAITING", "messages that wait for one another", (*session).waiting, noArgument},
		{"SHOW DEAD", "dead messages, a hundred at most, with 1,000 characters of their data", (*session).dead, noArgument},
		{"SHOW SEMAPHORES", "semaphores with tasks, a thousand at most", view(semaphoresSQL), noArgument},
		{"SHOW SCHEDULES", "the view mbus4.schedules", view(schedulesSQL), noArgument},
		{"PAUSE", "consumers of QUEUE, or of all queues, get nothing from now on", onQueue("pause_queue", "PAUSE"), anArgument},
		{"RESUME", "until this", onQueue("resume_queue", "RESUME"), anArgument},
		{"KILL", "ends SESSION, a number of SHOW SESSIONS", (*session).kill, needsArgument},
		{"RELOAD", "reads the configuration again, as SIGHUP does", (*session).reload, noArgument},
		{"SHUTDOWN", "ends the proxy: with WAIT busy sessions may finish, as with SIGTERM", (*session).shutdown, anArgument},
	}
}

// What clients make as long as they like is cut: the console has its answers in memory.
const (
	deadSQL = `select pg_catalog."left"(iid, 1000) as iid, pg_catalog."left"(headers operator(mbus4_hstore.->) 'destination'::text, 1000) as queue,
	pg_catalog."left"(headers operator(mbus4_hstore.->) 'dmq.consumer'::text, 1000) as consumer, pg_catalog."left"(headers operator(mbus4_hstore.->) 'dmq.error'::text, 1000) as error,
	pg_catalog."left"(headers operator(mbus4_hstore.->) 'dmq.added'::text, 100) as added, pg_catalog."left"(data::text, 1000) as data
from mbus4.dmq limit 100`
	schedulesSQL = `select pg_catalog."left"(name, 1000) as name, pg_catalog."left"(cron, 1000) as cron, pg_catalog."left"(timezone, 1000) as timezone, pg_catalog."left"(queue, 1000) as queue, next_at, last_at, missed,
	pg_catalog."left"(last_error, 1000) as last_error, owner
from mbus4.schedules`
)

const semaphoresSQL = `select s.key, s.active, s.try_release,
	(select count(*) from (select from mbus4.semaphore_task t where -t.semaphore_id = -s.id and t.status in ('ACQUIRED', 'TRY_RELEASE') limit 10000) a) as running,
	(select count(*) from (select from mbus4.semaphore_task t where -t.semaphore_id = -s.id and t.status = 'WAIT' limit 10000) w) as waiting
from mbus4.semaphore s order by s.key limit 1000`

// words takes a command apart. A semicolon at the end and comments before it are nothing.
func words(text string) []string {
	text = strings.TrimSpace(text)
	for strings.HasPrefix(text, "--") || strings.HasPrefix(text, "/*") {
		end, after := "\n", 1
		if text[1] == '*' {
			end, after = "*/", 2
		}
		i := strings.Index(text, end)
		if i < 0 {
			return nil
		}
		text = strings.TrimSpace(text[i+after:])
	}
	return strings.Fields(strings.TrimRight(text, "; \t\r\n"))
}

// find returns the command of a text with its argument; nil for an empty text.
func find(text string) (*command, string, error) {
	given := words(text)
	if len(given) == 0 {
		return nil, "", nil
	}
	for _, c := range commands() {
		name := strings.Fields(c.words)
		if len(given) < len(name) || !slices.EqualFunc(name, given[:len(name)], strings.EqualFold) {
			continue
		}
		rest := given[len(name):]
		if len(rest) > 1 || len(rest) == 1 && c.argument == noArgument || len(rest) == 0 && c.argument == needsArgument {
			return nil, "", fail("42601", "SHOW HELP lists the commands.", "%s: wrong number of words", c.words)
		}
		if len(rest) == 1 {
			return &c, strings.Trim(rest[0], `"'`), nil
		}
		return &c, "", nil
	}
	return nil, "", fail("42601", "This is the console of mbusproxy, not a database. SHOW HELP lists what it knows.", "the console does not know the command %q", strings.Join(given[:min(len(given), 3)], " "))
}

// run runs a command; nil for an empty text.
func (s *session) run(ctx context.Context, text string) (*table, error) {
	c, argument, err := find(text)
	if c == nil || err != nil {
		return nil, err
	}
	if err := s.admit(); err != nil {
		s.lost = true
		return nil, err
	}
	if !c.shows() {
		s.console.cfg.Log.Info("console command", zap.String("user", s.user), zap.String("command", c.words), zap.String("argument", argument))
	}
	return c.run(s, ctx, argument)
}

// shows reports whether the command only shows something.
func (c *command) shows() bool { return strings.HasPrefix(c.words, "SHOW") }

// describe says which columns a command has. What only shows something is run for that.
func (s *session) describe(ctx context.Context, text string) ([]string, error) {
	c, _, err := find(text)
	if c == nil || err != nil || !c.shows() {
		return nil, err
	}
	t, err := s.run(ctx, text)
	if err != nil {
		return nil, err
	}
	return t.columns, nil
}

func view(sql string) func(*session, context.Context, string) (*table, error) {
	return func(s *session, _ context.Context, _ string) (*table, error) { return s.look(sql) }
}

// queuesSQL lists the queues that PAUSE and RESUME without one are about.
const queuesSQL = `select queue from mbus4.queues where kind = 'plain' order by queue`

// onQueue calls a function for the queue of the argument, or in one transaction for all.
func onQueue(function, tag string) func(*session, context.Context, string) (*table, error) {
	return func(s *session, ctx context.Context, queue string) (*table, error) {
		sql, err := s.console.cfg.CallSQL(ctx, s.database, function)
		if err != nil {
			return nil, fail("55000", "Is it one that mbusproxy serves?", "database %q cannot be served: %v", s.database, err)
		}
		return &table{tag: tag}, s.trusting(false, func() error {
			queues := []string{queue}
			if queue == "" {
				all, err := s.exchange(queuesSQL)
				if err != nil {
					return err
				}
				queues = nil
				for _, row := range all.rows {
					queues = append(queues, *row[0])
				}
			}
			for _, queue := range queues {
				of := strings.NewReplacer("$1", sqlfuncs.QuoteLiteral(queue), "$2", "null").Replace(sql)
				if _, err := s.exchange(of + ";" + auditSQL(function, strings.ToLower(queue), "")); err != nil {
					return s.console.ownError(err)
				}
			}
			return nil
		})
	}
}

// auditSQL notes a change of a queue, or of a session, as the page does: docs/dead.md.
func auditSQL(action, queue, session string) string {
	of, details := "null", "null"
	if queue != "" {
		of = sqlfuncs.QuoteLiteral(queue)
	}
	if session != "" {
		details = "pg_catalog.jsonb_build_object('session', " + sqlfuncs.QuoteLiteral(session) + "::pg_catalog.text)"
	}
	return "insert into mbus4.audit (action, queue, details) values (" + sqlfuncs.QuoteLiteral(action) + ", " + of + ", " + details + ")"
}

func (s *session) help(context.Context, string) (*table, error) {
	t := newTable("command", "what it does")
	for _, c := range commands() {
		name := c.words
		switch {
		case c.words == "SHUTDOWN":
			name += " [WAIT]"
		case c.words == "KILL":
			name += " SESSION"
		case c.argument == anArgument:
			name += " [QUEUE]"
		}
		t.add(name, c.help)
	}
	return t, nil
}

// waiting lists the messages that are in circles.
func (s *session) waiting(context.Context, string) (*table, error) {
	var found []circles.Circle
	err := s.trusting(true, func() error {
		if _, err := s.exchange(circles.Settings); err != nil {
			return err
		}
		t, err := s.exchange(circles.Edges)
		if err != nil {
			return err
		}
		edges := make([]circles.Edge, len(t.rows))
		for i, row := range t.rows {
			edges[i] = circles.Edge{Of: *row[0], For: *row[1]}
		}
		found = circles.Find(edges)
		return nil
	})
	if err != nil {
		return nil, err
	}
	t := newTable("iid", "path")
	for _, c := range found {
		t.add(c.IID, c.Way())
	}
	return t, nil
}

func (s *session) version(context.Context, string) (*table, error) {
	t := newTable("version")
	t.add(fmt.Sprintf("mbusproxy %s (%s, %s/%s)", s.console.cfg.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH))
	return t, nil
}

func (s *session) config(context.Context, string) (*table, error) {
	t := newTable("key", "value")
	for _, kv := range s.console.cfg.Settings() {
		t.add(kv[0], kv[1])
	}
	return t, nil
}

func (s *session) kill(_ context.Context, argument string) (*table, error) {
	id, err := strconv.ParseUint(argument, 10, 64)
	if err != nil {
		return nil, fail("22023", "SHOW SESSIONS has them.", "%q is not the number of a session", argument)
	}
	if !s.console.cfg.End(id) {
		return nil, fail("22023", "SHOW SESSIONS has them.", "there is no session %d", id)
	}
	// Where the database has no queues, or the role no right to them, only the log says who it was.
	note := func() error {
		_, err := s.exchange(auditSQL("end_session", "", argument))
		return err
	}
	if err := s.trusting(false, note); err != nil {
		s.console.cfg.Log.Debug("console: a command is not in the audit", zap.Error(err))
	}
	return &table{tag: "KILL"}, nil
}

func (s *session) reload(context.Context, string) (*table, error) {
	if err := s.console.cfg.Reload(); err != nil {
		return nil, fail("58000", "", "%v", err)
	}
	return &table{tag: "RELOAD"}, nil
}

func (s *session) shutdown(_ context.Context, argument string) (*table, error) {
	if argument != "" && !strings.EqualFold(argument, "wait") {
		return nil, fail("42601", "SHUTDOWN, or SHUTDOWN WAIT.", "SHUTDOWN does not know the word %q", argument)
	}
	if err := s.console.cfg.Shutdown(argument != ""); err != nil {
		return nil, fail("58000", "", "%v", err)
	}
	return &table{tag: "SHUTDOWN"}, nil
}
