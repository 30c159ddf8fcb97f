package pipeline

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// leaving is a Rewriter that changes no report and is asked nothing else.
type leaving struct{ statements.Rewriter }

func (leaving) EditReport(string, *pgproto3.ErrorResponse) bool { return false }

// FuzzServerFrames: no reply brings the tracker down, and nothing is put out that did not come.
func FuzzServerFrames(f *testing.F) {
	f.Add([]byte("QPBDESFcCS"), []byte("1\x00\x00\x00\x04E\x00\x00\x00\x0bSERROR\x00\x00Z\x00\x00\x00\x05I"))
	f.Add([]byte("ESSScS"), []byte("G\x00\x00\x00\x04E\x00\x00\x00\x0bSERROR\x00\x00Z\x00\x00\x00\x05I"))
	kinds := map[byte]requests.Kind{
		'Q': requests.Query, 'F': requests.FunctionCall, 'P': requests.Parse, 'B': requests.Bind, 'D': requests.Describe,
		'E': requests.Execute, 'C': requests.Close, 'S': requests.Sync, 'c': requests.CopyEnd,
	}
	f.Fuzz(func(t *testing.T, owing, replies []byte) {
		flow := serverFlow{rewriter: leaving{}, Settings: new(atomic.Pointer[wire.Settings])}
		for _, c := range owing {
			if kind, ok := kinds[c]; ok {
				flow.queueUp([]request{{kind: kind}})
			}
		}
		flow.Settings.Store(&wire.Settings{Encoding: "UTF8"})
		out := wire.Splicer{Pool: wire.NewBufferPool()}
		err := flow.Feed(replies, &out)
		if got := out.Result(); !bytes.HasPrefix(replies, got) {
			t.Fatalf("changed to %q, %v", got, err)
		}
		if len(flow.more) > maxReadings {
			t.Fatalf("%d readings", len(flow.more))
		}
		_ = fmt.Sprint(err)
	})
}
