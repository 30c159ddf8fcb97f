package security

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// attackLimit is what one hostile statement may take on a loaded machine; one that hangs fails.
const attackLimit = 5 * time.Minute

// attackMemory is what the proxy may have in memory while texts are sent that are made to cost it, and
// heldMemory what the messages of eight sessions may take besides, each of 8 MB in up to three copies.
const (
	attackMemory = 256 << 20
	heldMemory   = 8 * 3 * 8 << 20
)

// attack is a statement that is made to cost the proxy what others need.
type attack struct {
	name  string
	sql   string
	args  []any
	codes []string // what may come of it: SQLSTATEs, or "" for success
}

const (
	tooComplex = "54001" // statement_too_complex, by the proxy or by the server
	tooLong    = "54000" // program_limit_exceeded
	noRights   = "42501"
)

// deepChains are 25,000 links of what the parser keeps as a level of its tree each.
func deepChains() map[string]string {
	rep := func(start, link string) string { return start + strings.Repeat(link, 25000) }
	return map[string]string{
		"plus":    rep("1", "+1"),
		"concat":  rep("'a'", "||'a'"),
		"cast":    rep("1", "::int"),
		"is null": rep("1", " is null"),
		"collate": rep("'a'", ` collate "C"`),
		"not":     strings.Repeat("not ", 25000) + "true",
		"minus":   strings.Repeat("- ", 25000) + "1",
	}
}

func parserAttacks() (out []attack) {
	forwarded := []string{"", tooComplex, "42601", "54011", "42804", "42883", "42P21", noRights}
	// The rights may be looked at before the values come, and a text for which a role has no room left is forwarded unread.
	refused := []string{tooComplex, noRights}
	for name, chain := range deepChains() {
		isTrue := "(" + chain + ") is not null"
		out = append(
			out,
			attack{name + " in a text with a comment", "/* mbus4.post() */ select " + chain, nil, forwarded},
			attack{name + " beside a call", "select mbus4.post('q', ''), " + chain, nil, refused},
			attack{name + " in a literal selector", "select mbus4.create_consumer('q', 'c', $x$" + isTrue + "$x$)", nil, refused},
			attack{name + " in a bound selector", "select mbus4.create_consumer('q', 'c', $1)", []any{isTrue}, refused},
			attack{name + " in a temporary consumer", "select mbus4.create_temporary_consumer('q', $1)", []any{isTrue}, refused},
			attack{name + " for dyn_consume", "select * from mbus4.dyn_consume('q', $x$" + isTrue + "$x$)", nil, refused},
			attack{name + " for run_on", "select mbus4.run_on_q($x$select mbus4.post('q', ''), " + chain + "$x$)", nil, refused},
			attack{name + " for run_on, bound", "select mbus4.run_on_q($1)", []any{"select mbus4.post('q', ''), " + chain}, refused},
			attack{name + " for process_queue", "call mbus4.process_queue(1, $x$select mbus4.post('q', ''), " + chain + "$x$)", nil, refused},
		)
	}
	cross := "select mbus4.post('q', '') from pg_am a" + strings.Repeat(" cross join pg_am", 25000)
	union := "select mbus4.post('q', '')" + strings.Repeat(" union all select ''", 25000)
	return append(
		out,
		attack{"cross join", cross, nil, refused},
		attack{"union all", union, nil, refused},
		attack{"union all with commas", "select 'a', mbus4.post('q', '')" + strings.Repeat(" union all select '', ''", 10000), nil, refused},
		attack{"cross join in a comment's text", strings.Replace(cross, "mbus4.post('q', '')", "1 /* mbus4 */", 1), nil, forwarded},
		attack{"list of 2 MB", "select mbus4.post('q', '')" + strings.Repeat(",1", 1<<20), nil, []string{tooLong, noRights}},
		attack{"list of 2 MB with a comment", "select /* mbus4 */ 1" + strings.Repeat(",1", 1<<20), nil, []string{"54011"}},
		attack{"IN of almost 8 MB", "select mbus4.post('q', '') where 1 in (1" + strings.Repeat(",1", 4<<20-100) + ")", nil, []string{tooLong, noRights}},
		attack{"IN within the bound", "select mbus4.post('q', '') where 1 in (1" + strings.Repeat(",1", 60000) + ")", nil, []string{noRights}},
		attack{"many statements", strings.Repeat("select mbus4.post('q', '') union all select '';", 8000), nil, []string{tooLong, noRights}},
		attack{"calls within the bound", strings.Repeat("select mbus4.post('q', '') union all select '';", 1600), nil, []string{noRights}},
		attack{"quotes", "select mbus4.post('q', '')" + strings.Repeat(" 'a'\n", 1<<20), nil, []string{noRights}}, // one string
	)
}

// TestParserAttacks: one client that may do nothing sends what is made to end the proxy, alone and with seven others;
// the proxy goes on, its memory is bounded, and somebody else gets right answers all the while.
func TestParserAttacks(t *testing.T) {
	proxy := harness.NewPlainProxy(t)
	database := harness.NewQueueDatabase(t, "q")
	role := harness.NewRole(t)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	before := proxy.Memory(t, "VmRSS")

	bystander := make(chan []time.Duration)
	done := make(chan struct{})
	beside, err := pgconn.Connect(ctx, proxy.Endpoint.DSN(database))
	if err != nil {
		t.Fatal(err)
	}
	defer harness.Close(beside)
	go func() {
		var took []time.Duration
		defer func() { bystander <- took }()
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			start := time.Now()
			got, err := harness.Query(ctx, beside, "select 1")
			if err == nil && got == "1" {
				// Half of these texts are new.
				got, err = harness.Query(ctx, beside, fmt.Sprintf("select mbus4.is_msg_exists('none'), %d as n%d", n, n%100*(n/100%2)*n))
				if err == nil && got != fmt.Sprintf("f|%d", n) {
					err = fmt.Errorf("got %q", got)
				}
			}
			if err != nil {
				t.Errorf("bystander, statement %d: %v", n, harness.Describe(err))
				return
			}
			took = append(took, time.Since(start))
		}
	}()

	attacks := parserAttacks()
	for _, a := range attacks {
		start := time.Now()
		a.run(ctx, t, proxy.Endpoint, database, role)
		t.Logf("%-40s %4d MB, %v", a.name, proxy.Memory(t, "VmHWM")>>20, time.Since(start).Round(time.Millisecond))
	}
	if high := proxy.Memory(t, "VmHWM"); high > attackMemory {
		t.Errorf("the proxy took %d MB, for one attack after another", high>>20)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := i % 3; j < len(attacks); j += 3 {
				a := attacks[(j+i*len(attacks)/8)%len(attacks)]
				if !strings.Contains(a.name, "comment") { // what is forwarded is the server's work
					a.run(ctx, t, proxy.Endpoint, database, role)
				}
			}
		})
	}
	all.Wait()
	close(done)
	took := <-bystander
	if high := proxy.Memory(t, "VmHWM"); high > attackMemory+heldMemory {
		t.Errorf("the proxy took %d MB", high>>20)
	}
	slices.Sort(took)
	if len(took) == 0 {
		t.Fatal("the bystander got no answer")
	}
	t.Logf("%d attacks; the proxy had %d MB before, %d at most; bystander: %d times two statements, median %v, p99 %v, max %v", len(attacks)*11/3,
		before>>20, proxy.Memory(t, "VmHWM")>>20, len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
}

// run sends the attack on a session of its own and looks at what comes back.
func (a attack) run(ctx context.Context, t *testing.T, e harness.Endpoint, database, role string) {
	ctx, cancel := context.WithTimeout(ctx, attackLimit)
	defer cancel()
	config, err := pgconn.ParseConfig(e.DSN(database))
	if err != nil {
		t.Error(err)
		return
	}
	config.User = role
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		t.Errorf("%s: connecting: %v", a.name, err)
		return
	}
	defer harness.Close(conn)
	code := ""
	_, err = harness.Query(ctx, conn, a.sql, a.args...)
	var report *pgconn.PgError
	if errors.As(err, &report) {
		code = report.Code
	} else if err != nil {
		t.Errorf("%s: %v", a.name, err)
		return
	}
	if !slices.Contains(a.codes, code) {
		t.Errorf("%s: %v (%s)", a.name, harness.Describe(err), code)
	}
	if _, err := harness.Query(ctx, conn, "select 1"); err != nil {
		t.Errorf("%s: the session after it: %v", a.name, err)
	}
}
