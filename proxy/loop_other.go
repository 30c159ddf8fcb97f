//go:build !linux

package proxy

import (
	"runtime"

	"go.uber.org/zap"
)

// Where there is no epoll every session has its two goroutines.

func defaultLoops() int { return 0 }

type loops struct{}

func newLoops(int, *zap.Logger, *bufferPool) (*loops, error) { return &loops{}, nil }

func (*loops) close()        {}
func (*loops) take(*session) {}

type lanes struct{}

func (*lanes) start([]byte)        { panic("session in a loop on " + runtime.GOOS) }
func (*lanes) stop()               {}
func (*lanes) advance(int32)       {}
func (*lanes) letGo()              {}
func (*lanes) ask(chan<- standing) {}
func (*lanes) lookForClient()      {}
