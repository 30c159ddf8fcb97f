package schema

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/refusal"
)

const (
	// stepLockWait is how long a step waits for a lock, and how long it keeps clients waiting
	// behind it. It is less than the server's deadlock_timeout: see admin.ServiceLockWait.
	stepLockWait = 300 * time.Millisecond
	// firstPause and longestPause are the times between two attempts, in which clients get on. Each
	// pause is twice as long as the one before.
	firstPause   = 500 * time.Millisecond
	longestPause = 5 * time.Second
	// progressInterval is the time between two looks at an index that is being built.
	progressInterval = 200 * time.Millisecond
)

// upgradeService is the service of which the program that builds indexes takes the lead.
const upgradeService = "upgrade"

// upgrade brings one database up to this program's schema.
type upgrade struct {
	conn  *pgx.Conn
	how   Options
	steps []step
	in    *Installation
	res   *Result
	log   *zap.Logger
}

var (
	errLeft     = errors.New("left for later")                        // of a step
	errBuilding = errors.New("another program upgrades schema mbus4") // of an index
)

// run runs the missing steps, creates the functions that are missing and grants what is. Any number
// of proxies may do so at once: the transactions take turns, and each looks first what others have
// done.
func (u *upgrade) run(ctx context.Context) error {
	if err := bootstrap(ctx, u.conn, u.in); err != nil {
		return err
	}
	newest := u.steps[len(u.steps)-1].version
	if err := u.look(ctx, newest); err != nil {
		return err
	}
	if !u.in.schema {
		return &refusal.Error{
			Code:    refusal.NotInRequiredState,
			Message: fmt.Sprintf("schema mbus4 of database %q was dropped or renamed while it was being made", u.in.database),
			Hint:    "Try again.",
		}
	}
	u.res.Before, u.res.After = u.in.version, u.in.version
	begun := time.Now()
	for i, s := range u.steps {
		if s.version <= u.in.version {
			continue
		}
		err := u.step(ctx, s, Event{Step: s.name, Number: i + 1, Of: len(u.steps)}, begun)
		if errors.Is(err, errLeft) {
			u.res.Pending = true
			u.log.Info("a step of schema mbus4 is left for later", zap.String("database", u.in.database), zap.String("step", s.name))
			break
		}
		if err != nil {
			return refusal.Wrap("installing step "+s.name+" of schema mbus4", err)
		}
		u.res.After = max(u.res.After, s.version)
	}
	u.res.HstoreSchema = u.in.hstoreSchema
	if err := createFunctions(ctx, u.conn, u.in); err != nil {
		if u.in.missesInline() {
			return refusal.Wrap("creating the functions of schema mbus4", err)
		}
		u.res.Warnings = append(u.res.Warnings, fmt.Sprintf("functions for calls in WHERE and the like not created: %v", err))
	}
	if !u.res.Pending && (!u.in.granted || u.res.After != u.res.Before) {
		u.res.Warnings = append(u.res.Warnings, grantRights(ctx, u.conn, u.res.Before == 0)...)
	}
	for _, w := range u.res.Warnings {
		u.log.Warn("schema mbus4 is not complete", zap.String("database", u.in.database), zap.String("problem", w))
	}
	return u.look(ctx, newest)
}

// look finds out what is installed by now.
func (u *upgrade) look(ctx context.Context, newest int) error {
	fresh, err := inspect(ctx, u.conn)
	if err != nil {
		return err
	}
	fresh.newest = newest
	*u.in = fresh
	return fresh.check(newest)
}

// step runs a step unless that has been done. Where clients hold locks it gives way to them and tries again, until it
// is done or Patience ends.
func (u *upgrade) step(ctx context.Context, s step, event Event, begun time.Time) error {
	u.how.tell(event)
	patience := u.how.Patience
	if u.in.version < oldestServed {
		patience = 0 // nothing works without
	}
	if u.res.Before == 0 {
		s = s.inNewSchema()
	}
	if s.index != "" && patience > 0 {
		return errLeft // it may take hours
	}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		var ran bool
		var err error
		if s.index != "" {
			ran, err = u.buildIndex(ctx, s, event)
		} else {
			err = inTurn(ctx, u.conn, func(tx pgx.Tx) (err error) {
				ran, err = runStep(ctx, tx, s, u.in)
				return err
			})
		}
		if err == nil {
			u.in.version = max(u.in.version, s.version)
			event.State = Done
			u.how.tell(event)
			if ran {
				u.log.Info("schema mbus4 upgraded", zap.String("database", u.in.database), zap.String("step", s.name))
			}
			return nil
		}
		event.State, event.Waiting = Waiting, "another program, which builds the index"
		if !errors.Is(err, errBuilding) {
			code := refusal.SQLState(err)
			if u.in.version == 0 || code != refusal.LockNotAvailable && code != refusal.DeadlockDetected { // see bootstrap for version 0
				return err
			}
			event.Waiting = u.inTheWay(ctx)
		}
		if patience > 0 && time.Since(begun)+pause > patience {
			return errLeft
		}
		u.how.tell(event)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// inTheWay describes the oldest transaction that holds a lock on a table of the schema.
func (u *upgrade) inTheWay(ctx context.Context) string {
	var who string
	err := u.conn.QueryRow(ctx, `
		select pg_catalog.format('process %s of %s (%s), whose transaction began at %s', a.pid, a.usename, a.state, a.xact_start::timestamptz(0))
		from pg_catalog.pg_locks l
		join pg_catalog.pg_class c on c.oid = l.relation and c.relnamespace = 'mbus4'::pg_catalog.regnamespace
		join pg_catalog.pg_stat_activity a on a.pid = l.pid and a.pid <> pg_catalog.pg_backend_pid()
		where l.locktype = 'relation' and l.granted and l.database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
		order by a.xact_start
		limit 1`).Scan(&who)
	if err != nil {
		return "a transaction that has ended meanwhile"
	}
	return who
}

// inTurn runs a transaction that changes the schema; others that do so wait for its end.
func inTurn(ctx context.Context, conn *pgx.Conn, do func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// Another program's turn takes as long as it takes, which is not long; clients are not
		// waited for, nor kept waiting.
		for _, sql := range []string{`set local lock_timeout = 0`, lockUpgradeSQL, fmt.Sprintf(`set local lock_timeout = %d`, stepLockWait.Milliseconds())} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return fmt.Errorf("locking schema mbus4: %w", err)
			}
		}
		return do(tx)
	})
}

// runStep runs a step unless that has been done, and reports whether it ran.
func runStep(ctx context.Context, tx pgx.Tx, s step, in *Installation) (ran bool, err error) {
	done, err := isDone(ctx, tx.Conn(), s)
	if err != nil {
		return false, err
	}
	if s.version == baselineVersion {
		if err := findHstore(ctx, tx, in, !done); err != nil {
			return false, err
		}
	}
	if done {
		return false, nil
	}
	if s.version == baselineVersion {
		if err := emptyBound(ctx, tx, in); err != nil {
			return false, err
		}
	}
	text, err := expand(s.name, s.text, in.hstoreSchema)
	if err != nil {
		return false, err
	}
	// Several statements at once: only the simple protocol takes them.
	if _, err := tx.Conn().PgConn().Exec(ctx, text).ReadAll(); err != nil {
		if refusal.SQLState(err) == refusal.LackingRights {
			refused := lackingRights(*in)
			refused.Err = err
			return false, refused
		}
		return false, untrusted(err, in)
	}
	if _, err := checkTrust(ctx, tx.Conn(), in); err != nil {
		return false, err
	}
	return true, record(ctx, tx.Conn(), s)
}

// untrusted is the refusal where a step failed by checkSQL.
func untrusted(err error, in *Installation) error {
	var of *pgconn.PgError
	if !errors.As(err, &of) || !strings.Contains(of.Message, untrustedMark) {
		return err
	}
	_, said, _ := strings.Cut(strings.TrimSuffix(of.Message, `"`), untrustedMark)
	what, owner, _ := strings.Cut(said, untrustedOwner)
	return distrust(in, what, owner)
}

// isDone reports whether a step has been run.
func isDone(ctx context.Context, conn *pgx.Conn, s step) (done bool, err error) {
	if err := conn.QueryRow(ctx, `select pg_catalog.to_regclass('mbus4.schema_version') is not null`).Scan(&done); err != nil {
		return false, fmt.Errorf("looking for schema mbus4: %w", err)
	}
	if done {
		err = conn.QueryRow(ctx, `select coalesce(pg_catalog.max(version) >= $1, false) from mbus4.schema_version`, s.version).Scan(&done)
		if err != nil {
			return false, fmt.Errorf("reading the version of schema mbus4: %w", err)
		}
	}
	return done, nil
}

// record notes that a step has been run.
func record(ctx context.Context, conn *pgx.Conn, s step) error {
	_, err := conn.Exec(ctx, `insert into mbus4.schema_version (version, oldest, program) values ($1, $2, $3)`, s.version, s.oldest, program())
	if err != nil {
		return fmt.Errorf("noting the version of schema mbus4: %w", err)
	}
	return nil
}

// buildIndex builds the index of a step without keeping clients waiting, and reports whether it did. One program at a
// time does: while another has the lead, the error is errBuilding.
func (u *upgrade) buildIndex(ctx context.Context, s step, event Event) (ran bool, err error) {
	leads, err := Lead(ctx, u.conn, upgradeService)
	if err != nil {
		return false, err
	}
	if !leads {
		return false, errBuilding
	}
	// A program that was killed leaves its session at work for a while: who may lock the table comes after it.
	err = pgx.BeginFunc(ctx, u.conn, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `set local lock_timeout = 0`)
		if err == nil {
			_, err = tx.Exec(ctx, `lock table `+s.table+` in share update exclusive mode`)
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("waiting for the table: %w", err)
	}
	if done, err := isDone(ctx, u.conn, s); err != nil || done {
		return false, err
	}
	text, err := expand(s.name, s.text, u.in.hstoreSchema)
	if err != nil {
		return false, err
	}
	var broken bool
	err = u.conn.QueryRow(ctx, `select exists (select from pg_catalog.pg_index i where i.indexrelid = pg_catalog.to_regclass($1) and not i.indisvalid)`,
		"mbus4."+s.index).Scan(&broken)
	if err != nil {
		return false, fmt.Errorf("looking for what is left of an index: %w", err)
	}
	if _, err := u.conn.Exec(ctx, `set lock_timeout = 0`); err != nil {
		return false, fmt.Errorf("setting lock_timeout: %w", err)
	}
	if broken {
		if _, err := u.conn.Exec(ctx, `drop index concurrently mbus4.`+pgx.Identifier{s.index}.Sanitize()); err != nil {
			return false, fmt.Errorf("dropping what is left of an index: %w", err)
		}
	}
	stop := u.watchIndex(ctx, event)
	_, err = u.conn.Exec(ctx, text)
	stop()
	if err != nil {
		return false, fmt.Errorf("building index %s: %w", s.index, err)
	}
	return true, record(ctx, u.conn, s)
}

// watchIndex tells how far the index is that the upgrade's session builds, until stop is called.
func (u *upgrade) watchIndex(ctx context.Context, event Event) (stop func()) {
	if u.how.Notify == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	event.State = Building
	go func() {
		defer close(ended)
		conn, err := pgx.ConnectConfig(ctx, u.conn.Config())
		if err != nil {
			return // it is only for show
		}
		defer admin.Close(context.WithoutCancel(ctx), conn)
		tick := time.NewTicker(progressInterval)
		defer tick.Stop()
		for {
			err := conn.QueryRow(ctx, `
				select coalesce(pg_catalog.max(case when p.blocks_total > 0 then p.blocks_done::float8 / p.blocks_total end), -1)
				from pg_catalog.pg_stat_progress_create_index p
				where p.pid = $1`, u.conn.PgConn().PID()).Scan(&event.Progress)
			if err != nil {
				return
			}
			u.how.tell(event)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
