package proxy

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"slices"

	"go.uber.org/zap"
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
func (a *authentication) sasl(ctx context.Context, m []byte) error {
	offered, ok := mechanisms(m)
	if !ok {
		return sayServerGarbage()
	}
	var (
		ends     = a.client.tls != nil && slices.Contains(offered, scramSHA256) && a.verifiers.readable(ctx)
		endPoint []byte // of the client's connection; nil: -PLUS is not offered
	)
	shown := slices.DeleteFunc(slices.Clone(offered), func(name string) bool { return name == scramPlus })
	if ends {
		if endPoint = a.client.clientEndPoint(); endPoint != nil {
			shown = slices.Insert(shown, slices.Index(shown, scramSHA256), scramPlus)
		}
	}
	a.out = appendSASL(a.out, shown)
	if err := a.flush(); err != nil {
		return err
	}
	m, err := a.readPassword()
	if err != nil {
		return err
	}
	mechanism, first, ok := initialResponse(m)
	if !ok || a.client.tls == nil {
		return a.answer(m) // the server has words for what is malformed
	}
	if first == nil && !tooLong(m) {
		// The first message comes with the answer to an empty challenge. It has to be seen: who
		// could remove -PLUS from the list could have it come that way, too.
		if first, err = a.challenge(nil); err != nil {
			return err
		}
		m = appendInitialResponse(nil, mechanism, first)
	}
	switch {
	case mechanism == scramPlus && endPoint != nil && tooLong(m):
		return a.fail(offered)
	case mechanism == scramPlus && endPoint != nil:
		return a.endSCRAM(ctx, offered, first, endPoint)
	case mechanism != scramSHA256 || len(first) == 0 || first[0] != 'y':
		return a.answer(m)
	case endPoint != nil:
		return saySCRAMNegotiation()
	case a.server.tls == nil:
		return a.answer(m)
	case ends:
		return a.endSCRAM(ctx, offered, first, nil) // no binding was offered, and the client knows
	default:
		return sayChannelBinding()
	}
}

// endSCRAM ends the client's exchange and logs in to the server.
func (a *authentication) endSCRAM(ctx context.Context, offered []string, first, endPoint []byte) error {
	end, f := newSCRAMEnd(first, endPoint)
	if f != nil {
		return f
	}
	login, err := a.beginLogin(offered)
	if err != nil {
		return err
	}
	final, err := a.challenge([]byte(end.challenge(login.salt, login.iterations)))
	if err != nil {
		return err
	}
	if tooLong(final) {
		return a.failLogin(login)
	}
	if f := end.answered(final); f != nil {
		return f
	}
	v, key, err := a.verifiers.proven(ctx, a.user, end)
	if err != nil {
		a.log.Warn("password verifier cannot be read", zap.Error(err))
		return sayNoVerifiers()
	}
	if v.nobody {
		return a.failLogin(login)
	}
	defer clear(key[:])
	if err := a.answer(appendPassword(nil, []byte(login.prove(&key, &v.storedKey)))); err != nil {
		return err
	}
	signature, err := a.authRequest(authSASLFinal)
	if err != nil {
		a.verifiers.drop(a.user) // the role is gone, or has another password
		return err
	}
	if !login.accepts(signature, &v.serverKey) {
		a.verifiers.drop(a.user)
		return sayServerUnproven()
	}
	a.out = appendAuth(a.out, authSASLFinal, []byte(end.signature(&v)))
	return nil // AuthenticationOk follows
}

// fail has the server refuse the login.
func (a *authentication) fail(offered []string) error {
	login, err := a.beginLogin(offered)
	if err != nil {
		return err
	}
	return a.failLogin(login)
}

// failLogin has the server refuse a login that was begun.
func (a *authentication) failLogin(login *scramLogin) error {
	var key, stored [scramKeySize]byte
	_, _ = rand.Read(key[:]) // never fails
	if err := a.answer(appendPassword(nil, []byte(login.prove(&key, &stored)))); err != nil {
		return err
	}
	if _, err := a.authRequest(authSASLFinal); err != nil {
		return err
	}
	return sayServerUnproven() // it takes anything for a proof
}

// beginLogin sends the proxy's client-first-message and reads the challenge.
func (a *authentication) beginLogin(offered []string) (*scramLogin, error) {
	var binding []byte
	if slices.Contains(offered, scramPlus) {
		binding = a.server.serverEndPoint()
	}
	login := newSCRAMLogin(binding)
	if err := a.answer(appendInitialResponse(nil, login.mechanism, []byte(login.header+login.first))); err != nil {
		return nil, err
	}
	challenge, err := a.authRequest(authSASLContinue)
	if err != nil {
		return nil, err
	}
	if err := login.challenged(challenge); err != nil {
		return nil, sayServerGarbage()
	}
	return login, nil
}

// challenge sends the client an AuthenticationSASLContinue and returns its answer.
func (a *authentication) challenge(data []byte) ([]byte, error) {
	a.out = appendAuth(a.out, authSASLContinue, data)
	if err := a.flush(); err != nil {
		return nil, err
	}
	m, err := a.readPassword()
	if err != nil {
		return nil, err
	}
	return m[headerSize:], nil
}

// authRequest reads the server's next request, which must have this code, and returns its data.
func (a *authentication) authRequest(code uint32) ([]byte, error) {
	for {
		m, err := a.next()
		if err != nil {
			return nil, err
		}
		switch m[0] {
		case msgNoticeResponse:
			a.out = append(a.out, m...)
		case msgErrorResponse:
			return nil, a.refused(m)
		case msgAuthentication:
			body := m[headerSize:]
			if len(body) < 4 || binary.BigEndian.Uint32(body) != code {
				return nil, sayServerGarbage()
			}
			return body[4:], nil
		default:
			return nil, sayServerGarbage()
		}
	}
}

// tooLong reports whether a message, or the data of one, is longer than the server would read.
func tooLong(m []byte) bool { return len(m) > maxSCRAMMessage }
