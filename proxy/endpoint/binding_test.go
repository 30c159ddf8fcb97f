package endpoint

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"math/big"
	"strings"
	"testing"
)

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
		if got := string(CertificateBinding(der)); got != c.want(der) {
			t.Errorf("%v: %x, want %x", c.algorithm, got, c.want(der))
		}
		if c.algorithm == x509.SHA256WithRSA {
			// The signature itself plays no part: the same with the algorithms of old written into it.
			for _, oid := range []string{"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05", "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x04"} {
				old := []byte(strings.ReplaceAll(string(der), "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b", oid))
				if got := string(CertificateBinding(old)); got != sum256(old) {
					t.Errorf("SHA-1 or MD5: %x, want SHA-256", got)
				}
			}
		}
	}
	if CertificateBinding([]byte("no certificate")) != nil {
		t.Error("garbage has an end point")
	}
}
