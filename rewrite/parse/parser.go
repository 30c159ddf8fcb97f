package parse

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"github.com/pganalyze/pg_query_go/v6/parser"
	"google.golang.org/protobuf/proto"
)

// ErrEnded says that the context of a text ended before its turn came.
var ErrEnded = errors.New("waiting for the parser")

// stackBytes is the size of the stack of a parser's thread; what is not used takes no memory. A level of depth
// takes at most stackPerDepth bytes of it (TestStack); the rest is reserve.
const (
	stackBytes    = 64 << 20
	stackPerDepth = 4 << 10
)

// Parser parses texts of strangers. It is safe for concurrent use.
type Parser struct {
	line  *line
	texts atomic.Uint64
	time  atomic.Int64 // time.Duration

	mu      sync.Mutex
	threads []*thread // that have nothing to do
}

// Counts is what a Parser has done.
type Counts struct {
	Texts uint64        // parsed, or found to be no SQL
	Time  time.Duration // that took, without the waiting for a turn
}

// Counts tells what the Parser has done.
func (p *Parser) Counts() Counts {
	return Counts{Texts: p.texts.Load(), Time: time.Duration(p.time.Load())}
}

// New returns a Parser. Its threads are started when they are needed, two more than there are processors, and
// stay.
func New() *Parser {
	return &Parser{line: newLine(max(2, runtime.GOMAXPROCS(0)))}
}

// Parse returns the parse tree of a text, which must be in UTF-8 or ASCII. Errors are a *LimitError, a
// *SyntaxError, or that of a context which ended while the text waited for its turn.
func (p *Parser) Parse(ctx context.Context, text string) (*pg_query.ParseResult, error) {
	l, err := p.Lease(ctx, text, 0)
	if err != nil {
		return nil, err
	}
	defer l.Release()
	return l.Parse(ctx, text)
}

// Lease is a turn at the parser: the right to parse a text, to do what is to be done with it, and to keep what is made
// of it in memory. It belongs to one goroutine.
type Lease struct {
	parser *Parser
	client Client
	tokens int
	held   bool
}

// Lease measures a text, in which so many calls are to be rewritten, and waits for the turn of the
// context's Client. Errors are a *LimitError or that of the context. Who holds a Lease must release it soon, wait for
// nothing else, and not ask for another.
func (p *Parser) Lease(ctx context.Context, text string, calls int) (*Lease, error) {
	size, err := Check(text, false, calls)
	if err != nil {
		return nil, err
	}
	return p.lease(ctx, size.Tokens)
}

// Weigh waits for a turn in which a text of so many bytes can be measured.
func (p *Parser) Weigh(ctx context.Context, size int) (*Lease, error) {
	return p.lease(ctx, min(size/weighedBytes, MiddleTokens))
}

func (p *Parser) lease(ctx context.Context, tokens int) (*Lease, error) {
	l := &Lease{parser: p, client: clientOf(ctx), tokens: tokens}
	return l, l.Resume(ctx)
}

// Resume waits for a turn again that was released. The error is that of the context.
func (l *Lease) Resume(ctx context.Context) error {
	if l == nil || l.held {
		return nil
	}
	if err := l.parser.line.take(ctx, l.client, l.tokens); err != nil {
		return fmt.Errorf("%w: %w", ErrEnded, err)
	}
	l.held = true
	return nil
}

// Long reports whether the text of the Lease is a long one. The tree of a short one may be kept after Release.
func (l *Lease) Long() bool { return l != nil && l.tokens > ShortTokens }

// Release gives the turn to others. What was parsed must be forgotten if it was Long. It may be called again.
func (l *Lease) Release() {
	if l == nil || !l.held {
		return
	}
	l.held = false
	l.parser.line.give(l.client, l.tokens)
}

// Parse parses the text of the Lease, or one within it. If that is longer, and the text of the Lease is short, it
// waits for a turn that does for both.
func (l *Lease) Parse(ctx context.Context, text string) (*pg_query.ParseResult, error) {
	size, err := Check(text, false, 0)
	if err != nil {
		return nil, err
	}
	if size.Tokens > max(l.tokens, ShortTokens) {
		if l.Long() {
			return nil, tooLong()
		}
		l.Release()
		l.tokens = size.Tokens
		if err := l.Resume(ctx); err != nil {
			return nil, err
		}
	}
	t, err := l.parser.thread()
	if err != nil {
		return nil, err
	}
	var tree []byte
	began := time.Now()
	defer func() {
		l.parser.texts.Add(1)
		l.parser.time.Add(int64(time.Since(began)))
	}()
	t.do(func() {
		tree, err = parser.ParseToProtobuf(text)
		if l.Long() {
			returnMemory()
		}
	})
	l.parser.idle(t)
	if err != nil {
		return nil, classified(err)
	}
	result := &pg_query.ParseResult{}
	// The depth is bounded already.
	if err := (proto.UnmarshalOptions{RecursionLimit: math.MaxInt32}).Unmarshal(tree, result); err != nil {
		return nil, fmt.Errorf("reading parse tree: %w", err)
	}
	return result, nil
}

// classified tells a text that is too much for the parser from one that does not parse.
func classified(err error) error {
	for _, beyond := range []string{
		"memory exhausted", // YYMAXDEPTH of the grammar
		"stack depth limit exceeded", "out of memory", "invalid memory alloc request size",
	} {
		if strings.HasPrefix(err.Error(), beyond) {
			return tooComplex()
		}
	}
	return &SyntaxError{err.Error()}
}

// thread returns a thread that has nothing to do. A Lease is held, so there are never more than slots.
func (p *Parser) thread() (*thread, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.threads); n > 0 {
		t := p.threads[n-1]
		p.threads = p.threads[:n-1]
		return t, nil
	}
	return startThread(stackBytes)
}

// idle takes a thread back.
func (p *Parser) idle(t *thread) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.threads = append(p.threads, t)
}
