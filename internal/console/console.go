package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"go.uber.org/zap"

	"mbusproxy/engine"
	"mbusproxy/internal/quota"
	"mbusproxy/proxy"
	"mbusproxy/sqlfuncs"
	"mbusproxy/trust"
)

const (
	mostSessions = 16 // at a time; see quota.Places
	mostOfRole   = 8
	existsLife   = time.Second
	maxMessage   = 16 << 10 // bytes of one message of a client, of which it may have mostPrepared kept
	mostAnswer   = 16 << 20 // bytes of an answer of the server's, which is held until it is whole
	mostUnsent   = 64 << 10 // bytes for a client that are gathered before they are sent
	rowOverhead  = 24       // of each value of it
	// answerOverhead is how much any message to the client counts.
	answerOverhead = 64
)

// Config says what a Console shows and does. Its functions are safe for concurrent use.
type Config struct {
	Name     string // of the console's database
	Role     string // whose members may use it
	Admin    string // the role that keeps house, whose schema those trust who are no superusers
	Database string // where the server checks who logs in; behind Name and a slash clients name another one
	// Exists reports whether there is a database of that name which then wins: one of somebody who is trusted with the name.
	Exists  func(ctx context.Context, name string) (bool, error)
	Version string
	Proxy   func() proxy.Stats
	// End ends a session.
	End func(id uint64) bool
	// Databases are those that are served.
	Databases func() []*engine.Database
	Calls     func(each func(function string, ok, failed uint64))
	// Settings are the proxy's, by name, in order.
	Settings func() [][2]string
	// CallSQL is the statement of a call of the engine's own for a function with parameters, see calls.Texts.Statement.
	CallSQL  func(ctx context.Context, database, function string) (string, error)
	Reload   func() error
	Shutdown func(wait bool) error
	Log      *zap.Logger
}

// Console is a proxy.Console.
type Console struct {
	cfg      Config
	sessions *quota.Places[string]

	mu      sync.Mutex
	exists  bool
	askedAt time.Time
}

// New makes a Console.
func New(cfg Config) *Console {
	return &Console{cfg: cfg, sessions: quota.New[string](mostSessions, mostOfRole)}
}

// Login says where a client that names the console's database is checked.
func (c *Console) Login(ctx context.Context, database string) (instead string, ok bool) {
	name, at, other := strings.Cut(database, "/")
	if name != c.cfg.Name || other && at == "" {
		return "", false
	}
	if !other {
		at = c.cfg.Database
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.askedAt) > existsLife {
		is, err := c.cfg.Exists(ctx, c.cfg.Name)
		if err != nil {
			c.cfg.Log.Warn("the console cannot find out whether a database has its name", zap.Error(err))
			return "", false // the server says what is wrong
		}
		c.exists, c.askedAt = is, time.Now()
	}
	return at, !c.exists
}

// failure is an error as the client gets it.
type failure struct{ code, message, hint string }

func (f *failure) Error() string { return f.message }

func fail(code, hint, format string, args ...any) *failure {
	return &failure{code, fmt.Sprintf(format, args...), hint}
}

// session is that of one client.
type session struct {
	console        *Console
	client         *pgproto3.Backend
	server         *pgproto3.Frontend
	user, database string
	statement      map[string]string // prepared ones by name, at most mostPrepared
	portal         map[string]portal
	unsent         int  // bytes of answers that are not sent yet, about
	lost           bool // what the server sends is not understood any more, nothing can be sent to it or to the client, or the client is no member any more
}

// portal is a statement that is bound.
type portal struct {
	text    string
	formats []int16 // of its columns, as Bind has them: none, one for all, or one for each
}

const mostPrepared = 100

// Serve talks to a client.
func (c *Console) Serve(ctx context.Context, end func(), client, server io.ReadWriter, user, database string) {
	s := &session{
		console: c, client: pgproto3.NewBackend(client, client), server: pgproto3.NewFrontend(server, server), user: user, database: c.cfg.Database,
		statement: map[string]string{}, portal: map[string]portal{},
	}
	if _, at, other := strings.Cut(database, "/"); other {
		s.database = at
	}
	s.client.SetMaxBodyLen(maxMessage)
	s.server.SetMaxBodyLen(mostAnswer)
	if err := s.admit(); err != nil { // who is no member takes nobody's place
		var f *failure
		if errors.As(err, &f) {
			s.fatal(f)
		}
		return
	}
	var given atomic.Bool // the place is another's
	place, err := c.sessions.Take(user, func() {
		given.Store(true)
		end()
	})
	switch {
	case errors.Is(err, quota.ErrOwn):
		s.fatal(fail("53300", "Close one of them.", "your role has %d sessions in the console already", mostOfRole))
		return
	case err != nil:
		s.fatal(fail("53300", "Close one of them.", "there are %d sessions in the console already", mostSessions))
		return
	}
	defer place.Leave()
	c.cfg.Log.Info("console opened", zap.String("user", user))
	s.serve(ctx, place)
	if given.Load() {
		s.fatal(fail("57P01", "Roles share the places of the console; yours had most of them.", "another role needed the place of this session"))
	}
}

// serve answers what the client sends, until it leaves or the session ends.
func (s *session) serve(ctx context.Context, place *quota.Place[string]) {
	for ctx.Err() == nil {
		m, err := s.client.Receive()
		if errors.As(err, new(*pgproto3.ExceededMaxBodyLenErr)) {
			s.fatal(fail("54000", "SHOW HELP lists what the console knows.", "the message has more than %d bytes", maxMessage))
			return
		}
		if err != nil {
			return
		}
		if _, is := m.(*pgproto3.Terminate); is {
			return
		}
		place.Use(true)
		err = s.handle(ctx, m)
		if place.Use(false); err != nil || s.lost {
			return
		}
	}
}

// admit checks that the client is a member of the role: when it comes, and with each command, for a
// membership may end before the session does.
func (s *session) admit() error {
	t, err := s.ask("select pg_catalog.pg_has_role(r.oid, 'member') from pg_catalog.pg_roles r where r.rolname operator(pg_catalog.=) " + sqlfuncs.QuoteLiteral(s.console.cfg.Role) + "::pg_catalog.name")
	if err != nil {
		return err
	}
	if len(t.rows) == 0 {
		return fail("28000", "Create it, and grant it to those who may: create role ...", "the role %q, whose members may use the console, does not exist", s.console.cfg.Role)
	}
	if is := t.rows[0][0]; is == nil || *is != "t" {
		return fail("28000", "It may be granted to you.", "the console is for members of the role %q", s.console.cfg.Role)
	}
	return nil
}

func (s *session) fatal(f *failure) {
	s.send(&pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: f.code, Message: f.message, Hint: f.hint})
	s.flush()
}

// send gathers an answer for the client. Who asks without a Sync, or for much, and does not read
// makes the console wait here.
func (s *session) send(m pgproto3.BackendMessage) {
	s.client.Send(m)
	s.unsent += answerOverhead
	if row, is := m.(*pgproto3.DataRow); is {
		for _, v := range row.Values {
			s.unsent += len(v) + rowOverhead
		}
	}
	if s.unsent >= mostUnsent {
		s.flush()
	}
}

// flush sends what was gathered.
func (s *session) flush() {
	if s.unsent = 0; s.client.Flush() != nil {
		s.lost = true
	}
}

// table is a result: texts, nil for null.
type table struct {
	columns []string
	rows    [][]*string
	tag     string // "": SHOW
}

func newTable(columns ...string) *table { return &table{columns: columns} }

// add adds a row of anything; nil and the empty error are null.
func (t *table) add(values ...any) {
	row := make([]*string, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case nil:
		case *string:
			row[i] = v
		case time.Time:
			if !v.IsZero() {
				text := v.UTC().Format("2006-01-02 15:04:05.000+00")
				row[i] = &text
			}
		default:
			text := fmt.Sprint(v)
			row[i] = &text
		}
	}
	t.rows = append(t.rows, row)
}

// ask runs a query of what is in pg_catalog in the client's session at the server, and changes nothing. Behind an answer
// that cannot be read to its end, a message of more than mostAnswer bytes for example, what comes next would be taken for
// something else: then the session is lost.
//
// Names are looked for in pg_catalog only: who owns the database may have said otherwise. That
// holds for the one transaction which the statements of a Query are, for the session may be a
// pooler's, and somebody else's next.
func (s *session) ask(sql string) (*table, error) {
	return s.exchange("set transaction read only; set local search_path = pg_catalog, pg_temp; " + sql)
}

// look runs a query of what is in schema mbus4, in a transaction that only reads.
func (s *session) look(sql string) (t *table, err error) {
	err = s.trusting(true, func() error {
		t, err = s.exchange(sql)
		return err
	})
	return t, err
}

// trusting runs f in a transaction in which nothing of schema mbus4 is read or run unless the client's role has a reason to
// trust whomever it belongs to, see package trust. It is committed unless it only reads or f fails.
func (s *session) trusting(reads bool, f func() error) error {
	begin, end := trust.BeginWriting, "commit"
	if reads {
		begin, end = trust.BeginReading, "rollback"
	}
	t, err := s.exchange(begin + "; " + trust.ForPerson(s.console.cfg.Admin))
	if err == nil {
		err = trustedBy(t, reads)
	}
	if err == nil {
		err = f()
	}
	if err != nil {
		_, _ = s.exchange("rollback") // where it fails the session is lost
		return err
	}
	_, err = s.exchange(end)
	return err
}

// trustedBy reads the answer of the question whom a schema belongs to.
func trustedBy(t *table, reads bool) error {
	var row [7]string
	if len(t.rows) != 1 || len(t.rows[0]) != len(row) {
		return fail("XX000", "", "the server does not say whom schema mbus4 belongs to")
	}
	for i, v := range t.rows[0] {
		if v != nil {
			row[i] = *v
		}
	}
	if refused := trust.Read(row).Check(reads); refused != nil {
		return &failure{refused.Code, refused.Message, refused.Hint}
	}
	return nil
}

// exchange sends a Query, and reads the answer.
func (s *session) exchange(sql string) (*table, error) {
	s.server.SendQuery(&pgproto3.Query{String: sql})
	if err := s.server.Flush(); err != nil {
		s.lost = true
		return nil, fmt.Errorf("asking the server: %w", err)
	}
	t := &table{}
	var failed error
	size := 0
	for {
		m, err := s.server.Receive()
		if err != nil {
			s.lost = true
			return nil, fmt.Errorf("asking the server: %w", err)
		}
		switch m := m.(type) {
		case *pgproto3.RowDescription:
			for _, f := range m.Fields {
				t.columns = append(t.columns, string(f.Name))
			}
		case *pgproto3.DataRow:
			for _, v := range m.Values {
				size += len(v) + rowOverhead
			}
			if size > mostAnswer {
				t.rows, failed = nil, fail("54000", "Ask the database itself for less of it.", "the answer is longer than %d MiB", mostAnswer>>20)
				continue
			}
			row := make([]*string, len(m.Values))
			for i, v := range m.Values {
				if v != nil {
					text := string(v)
					row[i] = &text
				}
			}
			t.rows = append(t.rows, row)
		case *pgproto3.ErrorResponse:
			failed = &failure{m.Code, m.Message, m.Hint}
		case *pgproto3.ReadyForQuery:
			return t, failed
		}
	}
}
