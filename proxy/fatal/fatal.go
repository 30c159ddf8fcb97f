package fatal

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Everything the proxy itself says to a client is built in this file. All of it is FATAL: it is
// said before a session begins or as its last message.

// Error is a report the proxy makes itself. It is an error, so that startup can return it.
type Error struct {
	Code, Message, detail, hint string
}

func (f *Error) Error() string { return fmt.Sprintf("%s: %s", f.Code, f.Message) }

// Encode appends the ErrorResponse to dst.
func (f *Error) Encode(dst []byte) []byte {
	msg := pgproto3.ErrorResponse{
		Severity: "FATAL", SeverityUnlocalized: "FATAL",
		Code: f.Code, Message: f.Message, Detail: f.detail, Hint: f.hint,
	}
	out, err := msg.Encode(dst)
	if err != nil { // only when longer than a message may be
		return dst
	}
	return out
}

// TooManyClients is for one more session than --max-connections allows.
func TooManyClients() *Error {
	return &Error{
		Code: "53300", Message: "sorry, too many clients already",
		hint: "The limit is that of mbusproxy (--max-connections).",
	}
}

// Shutdown is for the end of the proxy.
func Shutdown() *Error {
	return &Error{Code: "57P01", Message: "terminating connection due to administrator command"}
}

// ServerClosed is for a server that ended without a word: killed, or its machine gone.
func ServerClosed() *Error {
	return &Error{
		Code: "57P01", Message: "terminating connection because the Postgres server closed it unexpectedly",
		hint: "In a moment you should be able to reconnect to the database and repeat your command.",
	}
}

// TLSRequired is for a client without TLS where the proxy demands it.
func TLSRequired() *Error {
	return &Error{
		Code: "28000", Message: "mbusproxy accepts only connections with TLS",
		hint: "Connect with sslmode=require or stronger.",
	}
}

// Crowded is for those that are too many even to wait for their turn.
func Crowded() *Error {
	return &Error{
		Code: "53300", Message: "sorry, too many clients are logging in already",
		hint: "In a moment you should be able to connect.",
	}
}

// TooSlow is for a client that has lost its turn.
func TooSlow() *Error {
	return &Error{
		Code: "53300", Message: "canceling authentication because other clients are waiting to log in",
		hint: "Answer the request for a password sooner.",
	}
}

// UnencryptedData has the words of postmaster.c in Postgres.
func UnencryptedData(request string) *Error {
	return &Error{
		Code: "08P01", Message: "received unencrypted data after " + request + " request",
		detail: "This could be either a client-software bug or evidence of an attempted man-in-the-middle attack.",
	}
}

// NoALPN is for a TLS handshake from the first byte on that names no protocol.
func NoALPN() *Error {
	return &Error{
		Code: "08P01", Message: "received direct SSL connection request without ALPN protocol negotiation extension",
		hint: `Offer the ALPN protocol "postgresql".`,
	}
}

// What follows is said to clients that have not logged in. They are not to learn where the servers
// are, as whom the proxy logs in to them, or what its system says about that; all of it is in the
// log.

// Unreachable is for servers none of which takes a connection.
func Unreachable() *Error {
	return &Error{
		Code: "08001", Message: "mbusproxy could not connect to the Postgres server",
		hint: "The proxy's log says why.",
	}
}

// NoneFits is for servers none of which fits target_session_attrs.
func NoneFits() *Error {
	return &Error{
		Code: "08001", Message: "mbusproxy found no Postgres server that takes this kind of session",
		hint: "Until a standby is promoted none may be there; try again. The proxy's log says more.",
	}
}

// ServerLost is for a server that leaves during startup.
func ServerLost() *Error {
	return &Error{
		Code: "08006", Message: "the Postgres server closed the connection during startup",
		hint: "The logs of the server and of the proxy may say why.",
	}
}

// ServerGarbage is for a server that does not speak the protocol.
func ServerGarbage() *Error {
	return &Error{
		Code: "08P01", Message: "mbusproxy received an unexpected message from the server during startup",
		hint: "The administrator of the proxy should check that there is a Postgres server behind it.",
	}
}

// ChannelBinding is for a client that binds SCRAM to its connection with the proxy, where the proxy
// cannot end the exchange.
func ChannelBinding() *Error {
	return &Error{
		Code:    "28000",
		Message: "SCRAM authentication through mbusproxy is not possible with a client that can bind channels",
		detail:  "The server would take the relayed exchange for a downgrade attack.",
		hint:    "Connect with channel_binding=disable. The proxy's administrator can allow channel binding.",
	}
}

// NoVerifiers is for a role whose verifier cannot be read.
func NoVerifiers() *Error {
	return &Error{
		Code: "58000", Message: "mbusproxy could not read password verifiers from the Postgres server",
		hint: "The proxy's log says why.",
	}
}

// ServerUnproven is for a server whose signature is wrong.
func ServerUnproven() *Error {
	return &Error{
		Code: "28000", Message: "the Postgres server did not prove that it knows the password",
		hint: "The administrator of the proxy should check that it reads the verifiers of that very server.",
	}
}

// The refusals of a client's SCRAM messages have the words of auth-scram.c in Postgres.

// MalformedSCRAM is for a message that cannot be read.
func MalformedSCRAM(detail string) *Error {
	return &Error{Code: "08P01", Message: "malformed SCRAM message", detail: detail}
}

// SCRAMNegotiation is for a client that was offered a binding and thinks it was not.
func SCRAMNegotiation() *Error {
	return &Error{
		Code: "28000", Message: "SCRAM channel binding negotiation error",
		detail: "The client supports SCRAM channel binding but thinks the server does not.  However, this server does support channel binding.",
	}
}

// SCRAMBindingType is for a binding other than tls-server-end-point.
func SCRAMBindingType(name string) *Error {
	return &Error{Code: "08P01", Message: fmt.Sprintf("unsupported SCRAM channel-binding type \"%s\"", name)}
}

// SCRAMBindingCheck is for the binding to another connection.
func SCRAMBindingCheck() *Error {
	return &Error{Code: "28000", Message: "SCRAM channel binding check failed"}
}

// SCRAMBindingAttribute is for a binding where none was agreed.
func SCRAMBindingAttribute() *Error {
	return &Error{Code: "08P01", Message: "unexpected SCRAM channel-binding attribute in client-final-message"}
}

// SCRAMUnsupported is for an extension or an authorization identity.
func SCRAMUnsupported(what string) *Error {
	return &Error{Code: "0A000", Message: what}
}

// SCRAMNonce is for a nonce that cannot be one.
func SCRAMNonce() *Error {
	return &Error{Code: "08P01", Message: "non-printable characters in SCRAM nonce"}
}

// SCRAMResponse is for a response that is not the one to the challenge.
func SCRAMResponse(detail string) *Error {
	return &Error{Code: "08P01", Message: "invalid SCRAM response", detail: detail}
}

// StartupTimeout is for a client that has asked, and whose session has not begun in time.
func StartupTimeout() *Error {
	return &Error{
		Code: "08006", Message: "canceling authentication due to timeout",
		hint: "The limit is that of mbusproxy (--startup-timeout).",
	}
}

// LoopFailed is for a failure of the proxy's own.
func LoopFailed() *Error {
	return &Error{
		Code: "58000", Message: "mbusproxy cannot go on with this session",
		hint: "Reconnect, and repeat what has not been committed. The proxy's log says what failed.",
	}
}
