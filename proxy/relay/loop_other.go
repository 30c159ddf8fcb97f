//go:build !linux

package relay

import (
	"runtime"

	"go.uber.org/zap"

	"mbusproxy/proxy/pipeline"
	"mbusproxy/proxy/relay/life"
	"mbusproxy/proxy/wire"
)

// Where there is no epoll every session has its two goroutines.

func DefaultLoops() int { return 0 }

type loops struct{}

func newLoops(int, *zap.Logger, *wire.BufferPool) (*loops, error) { return &loops{}, nil }

func (*loops) close()        {}
func (*loops) take(*Session) {}

type looped struct{}

func (*looped) start([]byte)                         { panic("session in a loop on " + runtime.GOOS) }
func (*looped) ask(life.Event)                       {}
func (*looped) stopBuffering()                       {}
func (*looped) tell(func(), chan<- pipeline.Backlog) {}
func (*looped) lookForClient()                       {}
func (*looped) clientGone() bool                     { return false }
