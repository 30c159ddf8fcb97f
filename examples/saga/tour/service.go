package tour

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// How long an idle service waits before it looks at its queue without being told to: a delay has
	// passed, or what a message waited for went away unnoticed.
	idle = 100 * time.Millisecond
	// How long a service waits before it connects again.
	reconnect      = 20 * time.Millisecond
	connectTimeout = 10 * time.Second
	closeTimeout   = 2 * time.Second
)

// Service consumes the messages of one queue.
type Service struct {
	Name  string
	queue string
	// handle works on a message in the transaction that consumed it and says what it did.
	handle func(*session, context.Context, *message) (did string, err error)
}

// Services lists the twelve services of the saga: five that reserve, five that cancel, and one at
// the end of each way.
func Services() []Service {
	forward := []string{"rooms", "tickets-1", "tickets-2", "transfers-to", "transfers-from"}
	var services []Service
	for i, s := range plan() {
		services = append(services,
			Service{forward[i], s.queue, (*session).reserve},
			Service{"cancel-" + string(s.step), s.cancel, (*session).cancel})
	}
	return append(services,
		Service{"finisher", endQueue, (*session).finish},
		Service{"cancel-finisher", cancelledQueue, (*session).finishRollback})
}

// Run works until ctx ends. It survives the loss of its connections.
func (s Service) Run(ctx context.Context, cfg Config) {
	if cfg.MaxAttempts == 0 {
		cfg.MaxAttempts = 3
	}
	if cfg.RetryDelay == 0 {
		cfg.RetryDelay = 100 * time.Millisecond
	}
	if cfg.Mood == nil {
		cfg.Mood = func(Request) Mood { return Fine }
	}
	for ctx.Err() == nil {
		err := s.connectAndServe(ctx, cfg)
		if ctx.Err() != nil {
			return
		}
		if cfg.Watch != nil {
			cfg.Watch(Event{Moment: Lost, Service: s.Name, Text: err.Error(), At: time.Now()})
		}
		sleep(ctx, reconnect)
	}
}

// session is a service with its connections.
type session struct {
	Service
	cfg     Config
	conn    *pgx.Conn // of the transactions that consume
	rung    bool      // something was committed since the service last looked; set while conn reads
	tx      pgx.Tx    // the open one, on conn
	aside   *pgx.Conn // what is done here stays done
	outside outside   // uses aside
}

func (s Service) connectAndServe(ctx context.Context, cfg Config) (err error) {
	at := &session{Service: s, cfg: cfg}
	ring := func(*pgconn.PgConn, *pgconn.Notification) { at.rung = true }
	if at.conn, err = connect(ctx, cfg, s.Name, ring); err != nil {
		return err
	}
	defer closeConn(at.conn)
	if at.aside, err = connect(ctx, cfg, s.Name+" aside", nil); err != nil {
		return err
	}
	defer closeConn(at.aside)
	at.outside = outside{conn: at.aside, mood: cfg.Mood}
	if _, err := at.conn.Exec(ctx, "listen "+channel); err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	return at.serve(ctx)
}

func (s *session) serve(ctx context.Context) error {
	for {
		s.rung = false
		worked, err := s.turn(ctx)
		switch {
		case isConflict(err):
			s.tell(Lost, nil, err.Error()) // only the transaction is lost: the next turn repeats it
		case err != nil:
			return err
		case !worked && !s.rung:
			if err := s.awaitRing(ctx); err != nil {
				return err
			}
		}
	}
}

// turn consumes one message and works on it, all in one transaction.
func (s *session) turn(ctx context.Context) (worked bool, err error) {
	if err := s.begin(ctx); err != nil {
		return false, err
	}
	m, err := consume(ctx, s.tx, s.queue)
	if m == nil || err != nil {
		return false, errors.Join(err, s.abandon(ctx))
	}
	s.tell(Received, m, "")
	did, err := s.handle(s, ctx, m)
	var given *givenUp
	if errors.As(err, &given) {
		// The message goes back first. Then everything is locked in the order that all services keep.
		if err := s.beginAnew(ctx); err != nil {
			return true, err
		}
		did, err = s.startRollback(ctx, m, given)
	}
	if err != nil {
		return true, errors.Join(err, s.abandon(ctx))
	}
	return true, s.commit(ctx, m, did)
}

func (s *session) begin(ctx context.Context) (err error) {
	if s.tx, err = s.conn.Begin(ctx); err != nil {
		return fmt.Errorf("beginning: %w", err)
	}
	return nil
}

func (s *session) commit(ctx context.Context, m *message, did string) error {
	if _, err := s.tx.Exec(ctx, "select pg_notify($1, '')", channel); err != nil {
		return fmt.Errorf("notifying: %w", errors.Join(err, s.abandon(ctx)))
	}
	// The outcome of a commit that has begun is waited for, also when the service is told to stop.
	finishing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	at := time.Now()
	if err := s.tx.Commit(finishing); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	s.tellAt(at, Committed, m, did)
	return nil
}

// abandon gives back what the transaction consumed.
func (s *session) abandon(ctx context.Context) error {
	if err := s.tx.Rollback(ctx); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
		return fmt.Errorf("rolling back: %w", err)
	}
	return nil
}

// beginAnew is abandon, and begin.
func (s *session) beginAnew(ctx context.Context) error {
	if err := s.abandon(ctx); err != nil {
		return err
	}
	return s.begin(ctx)
}

// awaitRing waits until somebody committed something, but not for long.
func (s *session) awaitRing(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, idle)
	defer cancel()
	err := s.conn.PgConn().WaitForNotification(wait)
	if err != nil && (ctx.Err() != nil || wait.Err() == nil) {
		return fmt.Errorf("waiting: %w", err)
	}
	return nil
}

func (s *session) tell(moment Moment, m *message, text string) {
	s.tellAt(time.Now(), moment, m, text)
}

func (s *session) tellAt(at time.Time, moment Moment, m *message, text string) {
	if s.cfg.Watch == nil {
		return
	}
	e := Event{Moment: moment, Service: s.Name, Text: text, At: at}
	if m != nil {
		e.TourID, e.Step = m.tourID, m.step
	}
	s.cfg.Watch(e)
}

// isConflict tells whether a transaction only has to be repeated: a deadlock, or a snapshot that
// grew too old.
func isConflict(err error) bool {
	var report *pgconn.PgError
	return errors.As(err, &report) && (report.Code == "40P01" || report.Code == "40001")
}

func connect(ctx context.Context, cfg Config, name string, ring pgconn.NotificationHandler) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(cfg.DSN)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["application_name"] = name
	config.OnNotification = ring
	if cfg.Tune != nil {
		cfg.Tune(name, config)
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connecting %s: %w", name, err)
	}
	return conn, nil
}

// closeConn ends a connection politely, also when the service was told to stop.
func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = conn.Close(ctx) // it may be broken already
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
