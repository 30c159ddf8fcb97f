package security

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/frontend"
	"mbusproxy/integration/internal/harness"
)

// newTexts counts texts, so that each is one that the proxy has not seen.
var newTexts atomic.Int64

// textsOf makes texts of about so many tokens with a call, each of which nobody has sent before.
func textsOf(tokens int) func() string {
	rest := " where 1 in (1" + strings.Repeat(",1", tokens/2-10) + ")"
	return func() string {
		return fmt.Sprintf("select mbus4.is_msg_exists('none') as n%d", newTexts.Add(1)) + rest
	}
}

// TestFairParsing: whatever texts one role sends in many sessions, those of another are read soon: while
// the proxy reads one of these it reads few of those, and not one of each session.
func TestFairParsing(t *testing.T) {
	proxy := harness.NewPlainProxy(t)
	database := harness.NewQueueDatabase(t, "q")
	user, other, stranger := harness.NewRole(t), harness.NewRole(t), harness.NewRole(t)
	harness.Admin(t, fmt.Sprintf("grant mbus4_user to %s, %s", user, other))
	for i, c := range []struct {
		name             string
		flooder          string
		sessions         int
		flood, bystander int // tokens
		texts            int // of the bystander
		most             int // texts of the flood that are read meanwhile, for each of the bystander's
	}{
		{"short texts of a role without rights", stranger, 60, 2000, 2000, 50, 10},
		{"short texts of a role with rights", other, 60, 2000, 2000, 50, 10},
		{"long texts of a role without rights", stranger, 20, 130_000, 5000, 10, 2},
		{"long texts of a role with rights", other, 20, 130_000, 5000, 10, 2},
	} {
		if (i == 1 || i == 2) && !harness.Long() {
			continue // the other two have both lengths and both kinds of roles
		}
		t.Run(c.name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			var flooders sync.WaitGroup
			defer flooders.Wait()
			defer stop()
			var read atomic.Int64
			text := textsOf(c.flood)
			for range c.sessions {
				conn := harness.ConnectAs(t, proxy.Endpoint, database, c.flooder)
				flooders.Go(func() {
					for ctx.Err() == nil {
						_, _ = conn.Exec(ctx, text()).ReadAll()
						read.Add(1)
					}
				})
			}
			conn := harness.ConnectAs(t, proxy.Endpoint, database, user)
			own := textsOf(c.bystander)
			ask(t, conn, own())
			for begun := int64(3*c.sessions*c.bystander) / int64(c.flood); read.Load() < begun && t.Context().Err() == nil; {
				time.Sleep(time.Millisecond) // until all have texts waiting
			}
			before, took := read.Load(), make([]time.Duration, c.texts)
			for i := range took {
				took[i] = ask(t, conn, own())
			}
			meanwhile := int(read.Load() - before)
			slices.Sort(took)
			t.Logf("%d of %d sessions' texts were read while %d of the bystander's were, in %v each, %v at most",
				meanwhile, c.sessions, c.texts, took[len(took)/2], took[len(took)-1])
			if meanwhile > c.most*c.texts {
				t.Error("the bystander's texts wait behind all others")
			}
		})
	}
}

// ask returns how long a text takes.
func ask(t *testing.T, conn *pgconn.PgConn, text string) time.Duration {
	t.Helper()
	began := time.Now()
	if _, err := conn.Exec(t.Context(), text).ReadAll(); err != nil {
		t.Error(err)
	}
	return time.Since(began)
}

// TestUnfinishedTextsOfOneRole: many unfinished messages of one role do not take the memory from those of another.
func TestUnfinishedTextsOfOneRole(t *testing.T) {
	proxy := harness.NewPlainProxy(t)
	database := harness.NewQueueDatabase(t, "q")
	user, stranger := harness.NewRole(t), harness.NewRole(t)
	harness.Admin(t, "grant mbus4_user to "+user)
	const sessions, size = 80, 500 << 10
	for range sessions {
		conn := frontend.Stream(t, proxy.Endpoint, database+" user="+stranger)
		text := "select mbus4.post('q', '" + strings.Repeat("x", size)
		head := binary.BigEndian.AppendUint32([]byte{'Q'}, uint32(len(text)+1000))
		if _, err := conn.Write(append(head, text...)); err != nil {
			t.Fatal(err)
		}
	}
	conn := harness.ConnectAs(t, proxy.Endpoint, database, user)
	for range 50 {
		ask(t, conn, "select mbus4.post('q', 'a=>"+strings.Repeat("y", 200<<10)+"')")
	}
}
