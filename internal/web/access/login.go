package access

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"
)

// Login is somebody who has logged in. It is safe for concurrent use.
type Login struct {
	User, Database string
	Began          time.Time
	// Token is what each form of the log-in's pages sends along.
	Token string

	id     string
	store  *Store
	view   *connection // reads only
	change *connection // for all else; it reads only as well, but in transactions of Change

	ended chan struct{} // closed when it is over
	once  sync.Once

	mu      sync.Mutex
	used    time.Time // when the person last asked for something
	streams int
	told    string // what the next page says, once
}

// View runs f in a transaction that only reads, with the rights of the role. What f does takes no
// longer than a request may.
func (l *Login) View(ctx context.Context, f func(ctx context.Context, tx pgx.Tx) error) error {
	return l.with(ctx, l.view, viewTimeout, false, l.store.cfg.Check, f)
}

// ViewServer is View without the Store's Check: for what is of the server alone, in pg_catalog.
func (l *Login) ViewServer(ctx context.Context, f func(ctx context.Context, tx pgx.Tx) error) error {
	return l.with(ctx, l.view, viewTimeout, false, nil, f)
}

// Change runs f in a transaction with the rights of the role, which is committed if f succeeds.
func (l *Login) Change(ctx context.Context, f func(ctx context.Context, tx pgx.Tx) error) error {
	return l.with(ctx, l.change, changeTimeout, true, l.store.cfg.Check, f)
}

func (l *Login) with(ctx context.Context, c *connection, limit time.Duration, keep bool, check Check, f func(ctx context.Context, tx pgx.Tx) error) error {
	select {
	case <-l.ended:
		return ErrEnded
	default:
	}
	err := c.use(ctx, limit, keep, check, f)
	if errors.Is(err, ErrEnded) {
		l.store.cfg.Log.Info("page: a session at the server has ended", zap.String("user", l.User), zap.String("database", l.Database), zap.Error(err))
		l.store.End(l)
	}
	return err
}

// Ended is closed when the log-in is over, for whatever reason.
func (l *Login) Ended() <-chan struct{} { return l.ended }

// IsToken reports whether a form has sent the log-in's token.
func (l *Login) IsToken(given string) bool { return same(given, l.Token) }

// Tell leaves a text for the next page that is shown.
func (l *Login) Tell(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = text
}

// Told takes the text that Tell has left.
func (l *Login) Told() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.told
	l.told = ""
	return text
}

// OpenStream counts a stream of events in, unless the log-in has too many.
func (l *Login) OpenStream() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams >= mostStreams {
		return false
	}
	l.streams++
	return true
}

// CloseStream counts it out.
func (l *Login) CloseStream() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams--
}

// mostStreams is how many streams of events a log-in may have: each takes a connection of the
// browser's, which opens six.
const mostStreams = 3

func (l *Login) touch(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = now
}

// lastUsed is when the person last asked for something.
func (l *Login) lastUsed() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used
}

// end closes the log-in's sessions.
func (l *Login) end() {
	l.once.Do(func() {
		close(l.ended)
		l.view.close()
		l.change.close()
	})
}
