package scram

import (
	"encoding/base64"
	"strings"
	"testing"

	"mbusproxy/proxy/internal/proxytest"
)

// exampleVerifier is proxytest.StoredVerifier, read.
func exampleVerifier(t testing.TB, password string) (v Verifier, stored string, clientKey [KeySize]byte) {
	t.Helper()
	stored, clientKey = proxytest.StoredVerifier(t, password)
	v, err := ParseVerifier(stored)
	if err != nil {
		t.Fatal(err)
	}
	return v, stored, clientKey
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
	x, f := NewServer([]byte(exampleFirst), nil)
	if f != nil {
		t.Fatal(f)
	}
	x.nonce = exampleNonce
	if got := x.Challenge("W22ZaJ0SNY7soEsUEjb6gQ==", 4096); got != exampleChallenge {
		t.Errorf("challenge %q", got)
	}
	if f := x.Answered([]byte(exampleFinal)); f != nil {
		t.Fatal(f)
	}
	key, ok := v.clientKey(x.authMessage, &x.proof)
	if !ok || key != clientKey {
		t.Errorf("recovered %x, %t; want %x", key, ok, clientKey)
	}
	if got := x.Signature(&v); got != exampleSignature {
		t.Errorf("signature %q", got)
	}
	other, _, _ := exampleVerifier(t, "pencils")
	if _, ok := other.clientKey(x.authMessage, &x.proof); ok {
		t.Error("a proof is good for another password")
	}
	v.Nobody = true
	if _, ok := v.clientKey(x.authMessage, &x.proof); ok {
		t.Error("a proof is good for nobody's verifier")
	}
}

func TestSCRAMExampleAsClient(t *testing.T) {
	v, _, clientKey := exampleVerifier(t, "pencil")
	x := NewClient(nil)
	x.nonce, x.First = "rOprNGfwEbeRWgbNEkqO", "n=user,r=rOprNGfwEbeRWgbNEkqO"
	if err := x.Challenged([]byte(exampleChallenge)); err != nil {
		t.Fatal(err)
	}
	if x.Salt != "W22ZaJ0SNY7soEsUEjb6gQ==" || x.Iterations != 4096 {
		t.Errorf("salt %q, iterations %d", x.Salt, x.Iterations)
	}
	if got := x.Prove(&clientKey, &v.StoredKey); got != exampleFinal {
		t.Errorf("proof %q", got)
	}
	if !x.Accepts([]byte(exampleSignature), &v.ServerKey) {
		t.Error("the server's signature is refused")
	}
	for _, bad := range []string{"", "v=", "v=AAAA", "e=invalid-proof", strings.Replace(exampleSignature, "6", "7", 1)} {
		if x.Accepts([]byte(bad), &v.ServerKey) {
			t.Errorf("the signature %q is accepted", bad)
		}
	}
}

func TestParseVerifier(t *testing.T) {
	_, good, _ := exampleVerifier(t, "x")
	for _, bad := range []string{
		"", "md5d4fe5f8b5d4fe5f8b5d4fe5f8b5d4fe5", "SCRAM-SHA-256$", "SCRAM-SHA-256$4096:AA==",
		strings.Replace(good, "4096", "0", 1), strings.Replace(good, "4096", "x", 1),
		strings.Replace(good, "W22Z", "!!!!", 1), good + "A", good[:len(good)-4],
		strings.Replace(good, "SCRAM-SHA-256", "SCRAM-SHA-1", 1),
	} {
		if v, err := ParseVerifier(bad); err == nil || !v.Nobody {
			t.Errorf("%q: %+v, %v", bad, v, err)
		}
	}
}

func TestMalformedChallenge(t *testing.T) {
	for _, bad := range []string{
		"", "r=", "r=NONCE,s=AAAA,i=1", "r=other,s=AAAA,i=1", "r=NONCEx,s=A,i=1", "r=NONCEx,s=AAAA,i=0",
		"r=NONCEx,s=AAAA,i=-1", "r=NONCEx,s=AAAA,i=x", "r=NONCEx,s=AAAA", "m=x,r=NONCEx,s=AAAA,i=1", "s=AAAA,r=NONCEx,i=1",
	} {
		x := NewClient(nil)
		if err := x.Challenged([]byte(strings.Replace(bad, "NONCE", x.nonce, 1))); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	x := NewClient(nil)
	if err := x.Challenged([]byte("r=" + x.nonce + "x,s=AAAA,i=1,e=unknown")); err != nil {
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
		x, refusal := NewServer([]byte(first), endPoint)
		if refusal != nil {
			if refusal.Code == "" || refusal.Message == "" {
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
		x.Challenge("AAAA", 1)
		x.binding = "biws" // so that the corpus gets further
		x.nonce = exampleNonce
		if x.Answered([]byte(final)) != nil {
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
