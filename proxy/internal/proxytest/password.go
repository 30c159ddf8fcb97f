package proxytest

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"testing"
)

// SaltedPassword is what SCRAM makes of a password; salt is in base64.
func SaltedPassword(t testing.TB, password, salt string, iterations int) [sha256.Size]byte {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(salt)
	if err != nil {
		t.Fatal(err)
	}
	salted, err := pbkdf2.Key(sha256.New, password, raw, iterations, sha256.Size)
	if err != nil {
		t.Fatal(err)
	}
	return [sha256.Size]byte(salted)
}

// HmacOf is HMAC-SHA-256.
func HmacOf(key [sha256.Size]byte, message string) [sha256.Size]byte {
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte(message))
	return [sha256.Size]byte(h.Sum(nil))
}

// StaticVerifiers are an auth.Verifiers: verifiers by role.
type StaticVerifiers map[string]string

// Readable reports true.
func (s StaticVerifiers) Readable(context.Context) bool { return true }

// Verifier returns the one of a role.
func (s StaticVerifiers) Verifier(_ context.Context, role string) (string, error) {
	return s[role], nil
}

// StoredVerifier is what a server keeps of a password, with the salt of RFC 7677's example, and the
// ClientKey that proves it.
func StoredVerifier(t testing.TB, password string) (stored string, clientKey [sha256.Size]byte) {
	t.Helper()
	const salt = "W22ZaJ0SNY7soEsUEjb6gQ=="
	salted := SaltedPassword(t, password, salt, 4096)
	clientKey = HmacOf(salted, "Client Key")
	storedKey, serverKey := sha256.Sum256(clientKey[:]), HmacOf(salted, "Server Key")
	encode := base64.StdEncoding.EncodeToString
	return "SCRAM-SHA-256$4096:" + salt + "$" + encode(storedKey[:]) + ":" + encode(serverKey[:]), clientKey
}
