package proxy

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Everything the proxy itself says to a client is built in this file. All of it is FATAL: it is
// said before a session begins or as its last message.

// fatal is a report the proxy makes itself. It is an error, so that startup can return it.
type fatal struct {
	code, message, detail, hint string
}

func (f *fatal) Error() string { return fmt.Sprintf("%s: %s", f.code, f.message) }

// encode appends the ErrorResponse to dst.
func (f *fatal) encode(dst []byte) []byte {
	msg := pgproto3.ErrorResponse{
		Severity: "FATAL", SeverityUnlocalized: "FATAL",
		Code: f.code, Message: f.message, Detail: f.detail, Hint: f.hint,
	}
	out, err := msg.Encode(dst)
	if err != nil { // only when longer than a message may be
		return dst
	}
	return out
}

func sayTooManyClients() *fatal {
	return &fatal{
		code: "53300", message: "sorry, too many clients already",
		hint: "The limit is that of mbusproxy (--max-connections).",
	}
}

func sayShutdown() *fatal {
	return &fatal{code: "57P01", message: "terminating connection due to administrator command"}
}

// sayServerEnded is for a server that ended without a word: killed, or its machine gone.
func sayServerEnded() *fatal {
	return &fatal{
		code: "57P01", message: "terminating connection because the Postgres server closed it unexpectedly",
		hint: "In a moment you should be able to reconnect to the database and repeat your command.",
	}
}

func sayTLSRequired() *fatal {
	return &fatal{
		code: "28000", message: "mbusproxy accepts only connections with TLS",
		hint: "Connect with sslmode=require or stronger.",
	}
}

// sayCrowded is for those that are too many even to wait for their turn.
func sayCrowded() *fatal {
	return &fatal{
		code: "53300", message: "sorry, too many clients are logging in already",
		hint: "In a moment you should be able to connect.",
	}
}

// sayTooSlow is for a client that has lost its turn.
func sayTooSlow() *fatal {
	return &fatal{
		code: "53300", message: "canceling authentication because other clients are waiting to log in",
		hint: "Answer the request for a password sooner.",
	}
}

// sayUnencryptedData has the words of postmaster.c in Postgres.
func sayUnencryptedData(request string) *fatal {
	return &fatal{
		code: "08P01", message: "received unencrypted data after " + request + " request",
		detail: "This could be either a client-software bug or evidence of an attempted man-in-the-middle attack.",
	}
}

func sayNoALPN() *fatal {
	return &fatal{
		code: "08P01", message: "received direct SSL connection request without ALPN protocol negotiation extension",
		hint: `Offer the ALPN protocol "postgresql".`,
	}
}

// What follows is said to clients that have not logged in. They are not to learn where the servers are, as whom the proxy
// logs in to them, or what its system says about that; all of it is in the log.

func sayUnreachable() *fatal {
	return &fatal{
		code: "08001", message: "mbusproxy could not connect to the Postgres server",
		hint: "The proxy's log says why.",
	}
}

func sayNoneFits() *fatal {
	return &fatal{
		code: "08001", message: "mbusproxy found no Postgres server that takes this kind of session",
		hint: "Until a standby is promoted none may be there; try again. The proxy's log says more.",
	}
}

func sayServerLost() *fatal {
	return &fatal{
		code: "08006", message: "the Postgres server closed the connection during startup",
		hint: "The logs of the server and of the proxy may say why.",
	}
}

func sayServerGarbage() *fatal {
	return &fatal{
		code: "08P01", message: "mbusproxy received an unexpected message from the server during startup",
		hint: "The administrator of the proxy should check that there is a Postgres server behind it.",
	}
}

func sayChannelBinding() *fatal {
	return &fatal{
		code:    "28000",
		message: "SCRAM authentication through mbusproxy is not possible with a client that can bind channels",
		detail:  "The server would take the relayed exchange for a downgrade attack.",
		hint:    "Connect with channel_binding=disable. The proxy's administrator can allow channel binding.",
	}
}

func sayNoVerifiers() *fatal {
	return &fatal{
		code: "58000", message: "mbusproxy could not read password verifiers from the Postgres server",
		hint: "The proxy's log says why.",
	}
}

func sayServerUnproven() *fatal {
	return &fatal{
		code: "28000", message: "the Postgres server did not prove that it knows the password",
		hint: "The administrator of the proxy should check that it reads the verifiers of that very server.",
	}
}

// The refusals of a client's SCRAM messages have the words of auth-scram.c in Postgres.

func sayMalformedSCRAM(detail string) *fatal {
	return &fatal{code: "08P01", message: "malformed SCRAM message", detail: detail}
}

func saySCRAMNegotiation() *fatal {
	return &fatal{
		code: "28000", message: "SCRAM channel binding negotiation error",
		detail: "The client supports SCRAM channel binding but thinks the server does not.  However, this server does support channel binding.",
	}
}

func saySCRAMBindingType(name string) *fatal {
	return &fatal{code: "08P01", message: fmt.Sprintf("unsupported SCRAM channel-binding type \"%s\"", name)}
}

func saySCRAMBindingCheck() *fatal {
	return &fatal{code: "28000", message: "SCRAM channel binding check failed"}
}

func saySCRAMBindingAttribute() *fatal {
	return &fatal{code: "08P01", message: "unexpected SCRAM channel-binding attribute in client-final-message"}
}

func saySCRAMUnsupported(what string) *fatal {
	return &fatal{code: "0A000", message: what}
}

func saySCRAMNonce() *fatal {
	return &fatal{code: "08P01", message: "non-printable characters in SCRAM nonce"}
}

func saySCRAMResponse(detail string) *fatal {
	return &fatal{code: "08P01", message: "invalid SCRAM response", detail: detail}
}

func sayStartupTimeout() *fatal {
	return &fatal{
		code: "08006", message: "canceling authentication due to timeout",
		hint: "The limit is that of mbusproxy (--startup-timeout).",
	}
}

// sayLoopFailed is for a failure of the proxy's own.
func sayLoopFailed() *fatal {
	return &fatal{
		code: "58000", message: "mbusproxy cannot go on with this session",
		hint: "Reconnect, and repeat what has not been committed. The proxy's log says what failed.",
	}
}
