package auth

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"slices"

	"go.uber.org/zap"

	"mbusproxy/proxy/fatal"
	"mbusproxy/proxy/scram"
	"mbusproxy/proxy/wire"
)

// A client with TLS can bind SCRAM to its connection, which is the one with the proxy. Then the proxy
// ends the exchange and logs in to the server with one of its own:
//
//	client                    proxy                              server
//	client-first (p=…)   ->                 client-first    ->
//	                     <-   its nonce,  <- salt, iterations
//	                          salt, iterations
//	client-final, proof  ->   StoredKey of the verifier and the
//	                          proof give ClientKey
//	                                        client-final    ->
//	                     <-   signature  <-  signature, checked
//
// The salt is the server's own, also for roles that do not exist. A bad proof is answered with a bad
// proof to the server, whose refusal is passed on: its words, its log, its delay. Whoever the server
// does not let in does not get in. Clients that bind nothing (flag 'n') are relayed.

// sasl answers the server's AuthenticationSASL. It returns nil when the exchange is done or when the
// rest of it is to be relayed.
func (a *Exchange) sasl(ctx context.Context, m []byte) error {
	offered, ok := wire.Mechanisms(m)
	if !ok {
		return fatal.ServerGarbage()
	}
	var (
		ends     = a.Client.TLS != nil && slices.Contains(offered, scram.SHA256) && a.Verifiers.readable(ctx)
		endPoint []byte // of the client's connection; nil: -PLUS is not offered
	)
	shown := slices.DeleteFunc(slices.Clone(offered), func(name string) bool { return name == scram.Plus })
	if ends {
		if endPoint = a.Client.ClientBinding(); endPoint != nil {
			shown = slices.Insert(shown, slices.Index(shown, scram.SHA256), scram.Plus)
		}
	}
	a.out = wire.AppendSASL(a.out, shown)
	if err := a.flush(); err != nil {
		return err
	}
	m, err := a.readPassword()
	if err != nil {
		return err
	}
	mechanism, first, ok := wire.InitialResponse(m)
	if !ok || a.Client.TLS == nil {
		return a.answer(m) // the server has words for what is malformed
	}
	if first == nil && !tooLong(m) {
		// The first message comes with the answer to an empty challenge. It has to be seen: who
		// could remove -PLUS from the list could have it come that way, too.
		if first, err = a.challenge(nil); err != nil {
			return err
		}
		m = wire.AppendInitialResponse(nil, mechanism, first)
	}
	switch {
	case mechanism == scram.Plus && endPoint != nil && tooLong(m):
		return a.fail(offered)
	case mechanism == scram.Plus && endPoint != nil:
		return a.endSCRAM(ctx, offered, first, endPoint)
	case mechanism != scram.SHA256 || len(first) == 0 || first[0] != 'y':
		return a.answer(m)
	case endPoint != nil:
		return fatal.SCRAMNegotiation()
	case a.Server.TLS == nil:
		return a.answer(m)
	case ends:
		return a.endSCRAM(ctx, offered, first, nil) // no binding was offered, and the client knows
	default:
		return fatal.ChannelBinding()
	}
}

// endSCRAM ends the client's exchange and logs in to the server.
func (a *Exchange) endSCRAM(ctx context.Context, offered []string, first, endPoint []byte) error {
	end, f := scram.NewServer(first, endPoint)
	if f != nil {
		return f
	}
	login, err := a.beginLogin(offered)
	if err != nil {
		return err
	}
	final, err := a.challenge([]byte(end.Challenge(login.Salt, login.Iterations)))
	if err != nil {
		return err
	}
	if tooLong(final) {
		return a.failLogin(login)
	}
	if f := end.Answered(final); f != nil {
		return f
	}
	v, key, err := a.Verifiers.proven(ctx, a.User, end)
	if err != nil {
		a.Log.Warn("password verifier cannot be read", zap.Error(err))
		return fatal.NoVerifiers()
	}
	if v.Nobody {
		return a.failLogin(login)
	}
	defer clear(key[:])
	if err := a.answer(wire.AppendPassword(nil, []byte(login.Prove(&key, &v.StoredKey)))); err != nil {
		return err
	}
	signature, err := a.authRequest(wire.AuthSASLFinal)
	if err != nil {
		a.Verifiers.drop(a.User) // the role is gone, or has another password
		return err
	}
	if !login.Accepts(signature, &v.ServerKey) {
		a.Verifiers.drop(a.User)
		return fatal.ServerUnproven()
	}
	a.out = wire.AppendAuth(a.out, wire.AuthSASLFinal, []byte(end.Signature(&v)))
	return nil // AuthenticationOk follows
}

// fail has the server refuse the login.
func (a *Exchange) fail(offered []string) error {
	login, err := a.beginLogin(offered)
	if err != nil {
		return err
	}
	return a.failLogin(login)
}

// failLogin has the server refuse a login that was begun.
func (a *Exchange) failLogin(login *scram.Client) error {
	var key, stored [scram.KeySize]byte
	_, _ = rand.Read(key[:]) // never fails
	if err := a.answer(wire.AppendPassword(nil, []byte(login.Prove(&key, &stored)))); err != nil {
		return err
	}
	if _, err := a.authRequest(wire.AuthSASLFinal); err != nil {
		return err
	}
	return fatal.ServerUnproven() // it takes anything for a proof
}

// beginLogin sends the proxy's client-first-message and reads the challenge.
func (a *Exchange) beginLogin(offered []string) (*scram.Client, error) {
	var binding []byte
	if slices.Contains(offered, scram.Plus) {
		binding = a.Server.ServerBinding()
	}
	login := scram.NewClient(binding)
	if err := a.answer(wire.AppendInitialResponse(nil, login.Mechanism, []byte(login.Header+login.First))); err != nil {
		return nil, err
	}
	challenge, err := a.authRequest(wire.AuthSASLContinue)
	if err != nil {
		return nil, err
	}
	if err := login.Challenged(challenge); err != nil {
		return nil, fatal.ServerGarbage()
	}
	return login, nil
}

// challenge sends the client an AuthenticationSASLContinue and returns its answer.
func (a *Exchange) challenge(data []byte) ([]byte, error) {
	a.out = wire.AppendAuth(a.out, wire.AuthSASLContinue, data)
	if err := a.flush(); err != nil {
		return nil, err
	}
	m, err := a.readPassword()
	if err != nil {
		return nil, err
	}
	return m[wire.HeaderSize:], nil
}

// authRequest reads the server's next request, which must have this code, and returns its data.
func (a *Exchange) authRequest(code uint32) ([]byte, error) {
	for {
		m, err := a.next()
		if err != nil {
			return nil, err
		}
		switch m[0] {
		case wire.MsgNoticeResponse:
			a.out = append(a.out, m...)
		case wire.MsgErrorResponse:
			return nil, a.refused(m)
		case wire.MsgAuthentication:
			body := m[wire.HeaderSize:]
			if len(body) < 4 || binary.BigEndian.Uint32(body) != code {
				return nil, fatal.ServerGarbage()
			}
			return body[4:], nil
		default:
			return nil, fatal.ServerGarbage()
		}
	}
}

// tooLong reports whether a message, or the data of one, is longer than the server would read.
func tooLong(m []byte) bool { return len(m) > scram.MaxMessage }
