package relay

import (
	"syscall"
	"time"

	"mbusproxy/proxy/fatal"
	"mbusproxy/proxy/wire"
)

// serverClosed passes the server's end on to the client and waits for the client to close, for a
// while.
func (ln *lanes) serverClosed() {
	ln.server.noInput = true
	ln.discarding = true
	ln.server.unsent = nil
	if ln.cancelRewrite != nil {
		ln.cancelRewrite()
	}
	ln.shutdown(&ln.client)
	if len(ln.client.unsent) == 0 {
		ln.linger()
	}
}

// linger waits for the client to close, for lingerTime.
func (ln *lanes) linger() {
	if ln.client.noInput {
		ln.end()
		return
	}
	if !ln.until.IsZero() {
		return
	}
	ln.until = time.Now().Add(lingerTime)
	ln.loop.lingering = append(ln.loop.lingering, ln)
}

// lingered is called when a client whose bytes are discarded has closed.
func (ln *lanes) lingered() {
	if ln.server.noInput && len(ln.client.unsent) == 0 {
		ln.end()
	}
}

// advanced takes leave when the phase and the session's state allow it; see session.mayEnd.
func (ln *lanes) advanced() {
	s := ln.session
	if ln.ended || ln.server.noInput || ln.phase == phaseServing {
		return
	}
	idle := !s.plain && s.Down.Idle() && !ln.rewriting && ln.parked == nil
	if ln.phase != phaseExpired && !idle {
		return
	}
	if s.Down.AtBoundary() && !s.plain {
		ln.send(&ln.client, fatal.Shutdown().Encode(nil))
	}
	if idle {
		ln.send(&ln.server, wire.AppendFrame(nil, wire.MsgTerminate))
	}
	ln.shutdown(&ln.server)
	ln.serverClosed()
	if !ln.ended {
		ln.linger() // also when the client has not taken all
	}
	ln.watch()
}

// lost ends the session because its loop cannot go on.
func (ln *lanes) lost() {
	if ln.ended {
		return
	}
	s := ln.session
	if s.Down.AtBoundary() && !s.plain && len(ln.client.unsent) == 0 {
		ln.send(&ln.client, fatal.LoopFailed().Encode(nil))
	}
	if !s.plain && s.Down.Idle() && !ln.rewriting && ln.parked == nil && len(ln.server.unsent) == 0 {
		ln.send(&ln.server, wire.AppendFrame(nil, wire.MsgTerminate))
	}
	ln.end()
}

// end closes both sides. It may be called more than once.
func (ln *lanes) end() {
	if ln.ended {
		return
	}
	ln.ended = true
	if ln.cancelRewrite != nil {
		ln.cancelRewrite()
	}
	for i, o := range ln.loop.lingering {
		if o == ln {
			ln.loop.lingering = append(ln.loop.lingering[:i:i], ln.loop.lingering[i+1:]...)
			break
		}
	}
	for _, s := range []*side{&ln.client, &ln.server} {
		if s.fd < len(ln.loop.byFD) {
			ln.loop.byFD[s.fd] = nil
		}
		_ = syscall.Close(s.fd) // leaves the epoll instance with its last descriptor
	}
	if !ln.rewriting {
		ln.session.Up.Release()
	}
	ln.session.all.forget(ln.session)
}
