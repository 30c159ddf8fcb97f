package proxy

import (
	"context"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// lateConsole answers a query only when ctx has ended.
type lateConsole struct{ asked chan struct{} }

func (lateConsole) Login(context.Context, string) (string, bool) { return "postgres", true }

func (c lateConsole) Serve(ctx context.Context, _ func(), client, _ io.ReadWriter, _, _ string) {
	backend := pgproto3.NewBackend(client, client)
	for ctx.Err() == nil {
		if _, err := backend.Receive(); err != nil {
			return
		}
		c.asked <- struct{}{}
		<-ctx.Done()
		backend.Send(&pgproto3.CommandComplete{CommandTag: []byte("LATE")})
		backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		_ = backend.Flush()
	}
}

// What a console does while the server shuts down is answered, and both it and one at which nothing
// is asked say why they end.
func TestConsoleAtShutdown(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		console := lateConsole{make(chan struct{})}
		p := start(t, way, func(c *Config) { c.Console = console })
		idle, busy := login(t, p.addr), login(t, p.addr)
		busy.send(&pgproto3.Query{String: "shutdown"})
		<-console.asked
		if err := p.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		const goodbye = `ErrorResponse FATAL 57P01 "terminating connection due to administrator command"` + "\nclosed"
		if got := idle.toEnd(); got != goodbye {
			t.Errorf("idle: %s", got)
		}
		if got := busy.toEnd(); got != "CommandComplete LATE\nReadyForQuery I\n"+goodbye {
			t.Errorf("busy: %s", got)
		}
	})
}
