package security

import (
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/frontend"
	"mbusproxy/integration/internal/harness"
)

// TestFairRelaying: clients that send short new calls, all refused, without waiting for replies get few of them answered
// while a bystander's call is, and not a buffer full in each of their sessions.
func TestFairRelaying(t *testing.T) {
	const sessions, calls, texts = 16, 60, 300
	proxy := harness.NewPlainProxy(t)
	database := harness.NewQueueDatabase(t, "q")
	user, stranger := harness.NewRole(t), harness.NewRole(t)
	harness.Admin(t, "grant mbus4_user to "+user)
	var answered atomic.Int64 // bytes
	var flooders sync.WaitGroup
	var conns []net.Conn
	defer flooders.Wait()
	defer func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}()
	for range sessions {
		conn := frontend.Stream(t, proxy.Endpoint, database+" user="+stranger)
		conns = append(conns, conn)
		flooders.Go(func() {
			for err := error(nil); err == nil; {
				var batch []byte
				for range texts {
					text := fmt.Sprintf("select mbus4.post('%024d')", newTexts.Add(1))
					if batch, err = (&pgproto3.Query{String: text}).Encode(batch); err != nil {
						t.Error(err)
					}
				}
				_, err = conn.Write(batch)
			}
		})
		flooders.Go(func() {
			buf := make([]byte, 64<<10)
			for {
				n, err := conn.Read(buf)
				answered.Add(int64(n))
				if err != nil {
					return
				}
			}
		})
	}
	conn := harness.ConnectAs(t, proxy.Endpoint, database, user)
	for before := answered.Load(); answered.Load() < before+sessions<<16 && t.Context().Err() == nil; {
		time.Sleep(time.Millisecond) // until all are at work
	}
	meanwhile, took := make([]int64, calls), make([]time.Duration, calls)
	for i := range calls {
		before := answered.Load()
		took[i] = ask(t, conn, "select mbus4.peek_q()")
		meanwhile[i] = answered.Load() - before
	}
	slices.Sort(meanwhile)
	slices.Sort(took)
	t.Logf("%d bytes of the flood's answers while the bystander gets one, %d at most; it takes %v, %v at most",
		meanwhile[calls/2], meanwhile[calls-1], took[calls/2], took[calls-1])
	if meanwhile[calls/2] > 4<<20 { // it is 10 MiB where connections take no turns
		t.Error("the bystander's calls wait behind all others")
	}
}
