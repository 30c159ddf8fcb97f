package proxy

import (
	"crypto/sha256"
	"encoding/base64"
	"testing"

	"mbusproxy/proxy/internal/proxytest"
)

func serverKey(salted [sha256.Size]byte) *[sha256.Size]byte {
	key := proxytest.HmacOf(salted, "Server Key")
	return &key
}

// boundTo is the value of the attribute c for a binding.
func boundTo(binding []byte) string {
	return base64.StdEncoding.EncodeToString(append([]byte("p=tls-server-end-point,,"), binding...))
}

func keysOf(t testing.TB, password, salt string, iterations int) (clientKey, storedKey [sha256.Size]byte) {
	t.Helper()
	salted := proxytest.SaltedPassword(t, password, salt, iterations)
	clientKey = proxytest.HmacOf(salted, "Client Key")
	return clientKey, sha256.Sum256(clientKey[:])
}
