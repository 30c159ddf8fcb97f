//go:build !linux

package relay

import (
	"runtime"

	"go.uber.org/zap"

	"mbusproxy/proxy/pipeline"
	"mbusproxy/proxy/wire"
)

// Where there is no epoll every session has its two goroutines.

func DefaultLoops() int { return 0 }

type loops struct{}

func newLoops(int, *zap.Logger, *wire.BufferPool) (*loops, error) { return &loops{}, nil }

func (*loops) close()        {}
func (*loops) take(*Session) {}

type lanes struct{}

func (*lanes) start([]byte)                { panic("session in a loop on " + runtime.GOOS) }
func (*lanes) stop()                       {}
func (*lanes) advance(int32)               {}
func (*lanes) letGo()                      {}
func (*lanes) ask(chan<- pipeline.Backlog) {}
func (*lanes) lookForClient()              {}
