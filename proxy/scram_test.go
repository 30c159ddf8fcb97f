package proxy

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"
)

// exampleVerifier is that of a password, with the salt of RFC 7677's example.
func exampleVerifier(t testing.TB, password string) (v verifier, stored string, clientKey [scramKeySize]byte) {
	t.Helper()
	const salt = "W22ZaJ0SNY7soEsUEjb6gQ=="
	salted := saltedPassword(t, password, salt, 4096)
	clientKey = *mac(&salted, "Client Key")
	storedKey := sha256.Sum256(clientKey[:])
	encode := base64.StdEncoding.EncodeToString
	stored = "SCRAM-SHA-256$4096:" + salt + "$" + encode(storedKey[:]) + ":" + encode(mac(&salted, "Server Key")[:])
	var err error
	if v, err = parseVerifier(stored); err != nil {
		t.Fatal(err)
	}
	return v, stored, clientKey
}

func saltedPassword(t testing.TB, password, salt string, iterations int) [scramKeySize]byte {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(salt)
	if err != nil {
		t.Fatal(err)
	}
	salted, err := pbkdf2.Key(sha256.New, password, raw, iterations, scramKeySize)
	if err != nil {
		t.Fatal(err)
	}
	return [scramKeySize]byte(salted)
}

// The example of RFC 7677, section 3.
const (
	exampleFirst     = "n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
	exampleNonce     = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
	exampleChallenge = "r=" + exampleNonce + ",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
	exampleFinal     = "c=biws,r=" + exampleNonce + ",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
	exampleSignature = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
)

func TestSCRAMExampleAsServer(t *testing.T) {
	v, _, clientKey := exampleVerifier(t, "pencil")
	x, f := newSCRAMEnd([]byte(exampleFirst), nil)
	if f != nil {
		t.Fatal(f)
	}
	x.nonce = exampleNonce
	if got := x.challenge("W22ZaJ0SNY7soEsUEjb6gQ==", 4096); got != exampleChallenge {
		t.Errorf("challenge %q", got)
	}
	if f := x.answered([]byte(exampleFinal)); f != nil {
		t.Fatal(f)
	}
	key, ok := v.clientKey(x.authMessage, &x.proof)
	if !ok || key != clientKey {
		t.Errorf("recovered %x, %t; want %x", key, ok, clientKey)
	}
	if got := x.signature(&v); got != exampleSignature {
		t.Errorf("signature %q", got)
	}
	other, _, _ := exampleVerifier(t, "pencils")
	if _, ok := other.clientKey(x.authMessage, &x.proof); ok {
		t.Error("a proof is good for another password")
	}
	v.nobody = true
	if _, ok := v.clientKey(x.authMessage, &x.proof); ok {
		t.Error("a proof is good for nobody's verifier")
	}
}

func TestSCRAMExampleAsClient(t *testing.T) {
	v, _, clientKey := exampleVerifier(t, "pencil")
	x := newSCRAMLogin(nil)
	x.nonce, x.first = "rOprNGfwEbeRWgbNEkqO", "n=user,r=rOprNGfwEbeRWgbNEkqO"
	if err := x.challenged([]byte(exampleChallenge)); err != nil {
		t.Fatal(err)
	}
	if x.salt != "W22ZaJ0SNY7soEsUEjb6gQ==" || x.iterations != 4096 {
		t.Errorf("salt %q, iterations %d", x.salt, x.iterations)
	}
	if got := x.prove(&clientKey, &v.storedKey); got != exampleFinal {
		t.Errorf("proof %q", got)
	}
	if !x.accepts([]byte(exampleSignature), &v.serverKey) {
		t.Error("the server's signature is refused")
	}
	for _, bad := range []string{"", "v=", "v=AAAA", "e=invalid-proof", strings.Replace(exampleSignature, "6", "7", 1)} {
		if x.accepts([]byte(bad), &v.serverKey) {
			t.Errorf("the signature %q is accepted", bad)
		}
	}
}

// TestSCRAMThroughProxy joins both sides as a login does.
func TestSCRAMThroughProxy(t *testing.T) {
	_, stored, clientKey := exampleVerifier(t, "pencil")
	endPoint := []byte("a hash")
	source := staticVerifiers{"user": stored}
	cache := newVerifierCache(source)
	client := newSCRAMLogin(endPoint)
	end, f := newSCRAMEnd([]byte(client.header+client.first), endPoint)
	if f != nil {
		t.Fatal(f)
	}
	if err := client.challenged([]byte(end.challenge("W22ZaJ0SNY7soEsUEjb6gQ==", 4096))); err != nil {
		t.Fatal(err)
	}
	v, _ := parseVerifier(stored)
	if f := end.answered([]byte(client.prove(&clientKey, &v.storedKey))); f != nil {
		t.Fatal(f)
	}
	for range 2 { // looked up, then cached
		v, key, err := cache.proven(t.Context(), "user", end)
		if err != nil || v.nobody || key != clientKey {
			t.Fatalf("%+v, %v", v, err)
		}
		if !client.accepts([]byte(end.signature(&v)), &v.serverKey) {
			t.Error("signature refused")
		}
		source["user"] = "" // the server would refuse now; the cache needs not know
	}
	if v, _, err := cache.proven(t.Context(), "other", end); err != nil || !v.nobody {
		t.Errorf("%+v, %v", v, err)
	}
	if len(cache.known) != 1 {
		t.Errorf("%d roles in the cache", len(cache.known))
	}
}

// TestVerifiersLeaveMemory: a verifier is forgotten some time after it was read, whether or not anybody logs in
// again, and the cache is bounded.
func TestVerifiersLeaveMemory(t *testing.T) {
	_, stored, _ := exampleVerifier(t, "pencil")
	v, _ := parseVerifier(stored)
	cache := newVerifierCache(staticVerifiers{})
	for i := range mostVerifiers + 10 {
		cache.keep(fmt.Sprint("role", i), v)
	}
	if n := len(cache.known); n != mostVerifiers {
		t.Errorf("%d roles in the cache", n)
	}
	if cache.cached(fmt.Sprint("role", mostVerifiers+9)).nobody {
		t.Error("the newest one is not in the cache")
	}

	cache = newVerifierCache(staticVerifiers{})
	cache.life = time.Millisecond
	for i := range 10 {
		cache.keep(fmt.Sprint("role", i), v)
	}
	left := func() (int, bool) {
		cache.mu.Lock()
		defer cache.mu.Unlock()
		return len(cache.known), cache.timer != nil
	}
	for n, running := left(); n > 0 || running; n, running = left() {
		select {
		case <-t.Context().Done():
			t.Fatalf("%d roles are still in the cache", n)
		case <-time.After(time.Millisecond):
		}
	}
	// One that is too old is not used, though it is still there.
	cache.known["role"] = knownVerifier{v, time.Now()}
	if !cache.cached("role").nobody {
		t.Error("an old verifier is used")
	}
}

type staticVerifiers map[string]string

func (s staticVerifiers) Readable(context.Context) bool { return true }

func (s staticVerifiers) Verifier(_ context.Context, role string) (string, error) {
	return s[role], nil
}

func TestParseVerifier(t *testing.T) {
	_, good, _ := exampleVerifier(t, "x")
	for _, bad := range []string{
		"", "md5d4fe5f8b5d4fe5f8b5d4fe5f8b5d4fe5", "SCRAM-SHA-256$", "SCRAM-SHA-256$4096:AA==",
		strings.Replace(good, "4096", "0", 1), strings.Replace(good, "4096", "x", 1),
		strings.Replace(good, "W22Z", "!!!!", 1), good + "A", good[:len(good)-4],
		strings.Replace(good, "SCRAM-SHA-256", "SCRAM-SHA-1", 1),
	} {
		if v, err := parseVerifier(bad); err == nil || !v.nobody {
			t.Errorf("%q: %+v, %v", bad, v, err)
		}
	}
}

func TestMalformedChallenge(t *testing.T) {
	for _, bad := range []string{
		"", "r=", "r=NONCE,s=AAAA,i=1", "r=other,s=AAAA,i=1", "r=NONCEx,s=A,i=1", "r=NONCEx,s=AAAA,i=0",
		"r=NONCEx,s=AAAA,i=-1", "r=NONCEx,s=AAAA,i=x", "r=NONCEx,s=AAAA", "m=x,r=NONCEx,s=AAAA,i=1", "s=AAAA,r=NONCEx,i=1",
	} {
		x := newSCRAMLogin(nil)
		if err := x.challenged([]byte(strings.Replace(bad, "NONCE", x.nonce, 1))); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	x := newSCRAMLogin(nil)
	if err := x.challenged([]byte("r=" + x.nonce + "x,s=AAAA,i=1,e=unknown")); err != nil {
		t.Error(err)
	}
}

// FuzzSCRAMClient: what is accepted is well-formed by a second reading of the RFC, and nothing panics.
func FuzzSCRAMClient(f *testing.F) {
	f.Add("p=tls-server-end-point,,n=,r=rOprNGfwEbeRWgbNEkqO", exampleFinal, true)
	f.Add(exampleFirst, exampleFinal, false)
	f.Add("y,,n=,r=x,a=1,b=2", "c=eSws,r=x,x=1,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=", false)
	f.Add("n,a=me,n=,r=x", "c=biws,,p=", false)
	f.Add("n,,m=1,n=,r=x", "p=", false)
	f.Fuzz(func(t *testing.T, first, final string, plus bool) {
		var endPoint []byte
		if plus {
			endPoint = []byte{1}
		}
		x, refusal := newSCRAMEnd([]byte(first), endPoint)
		if refusal != nil {
			if refusal.code == "" || refusal.message == "" {
				t.Errorf("%+v", refusal)
			}
			return
		}
		header := map[bool][]string{true: {bindingHeader}, false: {"n,,", "y,,"}}[plus]
		fits := false
		for _, h := range header {
			fits = fits || first == h+x.client.bare
		}
		if !fits || x.client.bare == "" || !strings.HasPrefix(x.nonce, x.client.nonce) ||
			!strings.Contains(x.client.bare+",", ",r="+x.client.nonce+",") || strings.Contains(first, "\x00") {
			t.Fatalf("%q accepted: %+v", first, x)
		}
		x.challenge("AAAA", 1)
		x.binding = "biws" // so that the corpus gets further
		x.nonce = exampleNonce
		if x.answered([]byte(final)) != nil {
			return
		}
		unproven, proof, ok := cutLast(final, ",p=")
		proof = strings.TrimSuffix(proof, ",")
		got, err := base64.StdEncoding.DecodeString(proof)
		if !ok || err != nil || string(got) != string(x.proof[:]) ||
			!strings.HasPrefix(unproven+",", "c=biws,r="+exampleNonce+",") ||
			!strings.HasSuffix(x.authMessage, ","+unproven) {
			t.Fatalf("%q accepted: %+v", final, x)
		}
	})
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// FuzzSASLInitialResponse: what is read can be written again.
func FuzzSASLInitialResponse(f *testing.F) {
	f.Add(appendInitialResponse(nil, scramPlus, []byte(exampleFirst))[headerSize:])
	f.Add([]byte("SCRAM-SHA-256\x00\xff\xff\xff\xff"))
	f.Add([]byte("X\x00\x7f\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, body []byte) {
		m := appendPassword(nil, body)
		mechanism, data, ok := initialResponse(m)
		if !ok || data == nil {
			return
		}
		if got := appendInitialResponse(nil, mechanism, data); string(got) != string(m) {
			t.Fatalf("read %q, %q; written %q", mechanism, data, got)
		}
	})
}

func TestEndPoint(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sum256 := func(b []byte) string { s := sha256.Sum256(b); return string(s[:]) }
	sum384 := func(b []byte) string { s := sha512.Sum384(b); return string(s[:]) }
	sum512 := func(b []byte) string { s := sha512.Sum512(b); return string(s[:]) }
	for _, c := range []struct {
		algorithm x509.SignatureAlgorithm
		want      func([]byte) string
	}{
		{x509.SHA256WithRSA, sum256},
		{x509.SHA384WithRSA, sum384},
		{x509.SHA512WithRSA, sum512},
		{x509.SHA384WithRSAPSS, sum384},
		{x509.ECDSAWithSHA256, sum256},
		{x509.ECDSAWithSHA512, sum512},
		{x509.PureEd25519, func([]byte) string { return "" }},
	} {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), SignatureAlgorithm: c.algorithm}
		var der []byte
		switch {
		case c.algorithm == x509.PureEd25519:
			der, err = x509.CreateCertificate(rand.Reader, template, template, edKey.Public(), edKey)
		case strings.HasPrefix(c.algorithm.String(), "ECDSA"):
			der, err = x509.CreateCertificate(rand.Reader, template, template, ecKey.Public(), ecKey)
		default:
			der, err = x509.CreateCertificate(rand.Reader, template, template, rsaKey.Public(), rsaKey)
		}
		if err != nil {
			t.Fatalf("%v: %v", c.algorithm, err)
		}
		if got := string(endPoint(der)); got != c.want(der) {
			t.Errorf("%v: %x, want %x", c.algorithm, got, c.want(der))
		}
		if c.algorithm == x509.SHA256WithRSA {
			// The signature itself plays no part: the same with the algorithms of old written into it.
			for _, oid := range []string{"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05", "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x04"} {
				old := []byte(strings.ReplaceAll(string(der), "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b", oid))
				if got := string(endPoint(old)); got != sum256(old) {
					t.Errorf("SHA-1 or MD5: %x, want SHA-256", got)
				}
			}
		}
	}
	if endPoint([]byte("no certificate")) != nil {
		t.Error("garbage has an end point")
	}
}
