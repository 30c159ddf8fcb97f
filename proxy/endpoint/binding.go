package endpoint

import (
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
)

// Channel binding of type tls-server-end-point (RFC 5929, section 4): the hash of the certificate
// that the server of a TLS connection shows.

// CertificateBinding returns the binding for a certificate. The hash is the one of the certificate's
// signature, with SHA-256 instead of MD5 and SHA-1; a signature without a hash of its own (Ed25519)
// has no binding, which gives nil.
func CertificateBinding(der []byte) []byte {
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil
	}
	switch cert.SignatureAlgorithm {
	case x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1, x509.ECDSAWithSHA1,
		x509.SHA256WithRSA, x509.SHA256WithRSAPSS, x509.DSAWithSHA256, x509.ECDSAWithSHA256:
		sum := sha256.Sum256(der)
		return sum[:]
	case x509.SHA384WithRSA, x509.SHA384WithRSAPSS, x509.ECDSAWithSHA384:
		sum := sha512.Sum384(der)
		return sum[:]
	case x509.SHA512WithRSA, x509.SHA512WithRSAPSS, x509.ECDSAWithSHA512:
		sum := sha512.Sum512(der)
		return sum[:]
	default:
		return nil
	}
}

// ClientBinding is the binding of the client's connection; nil where there is none.
func (l *Endpoint) ClientBinding() []byte {
	if l.TLS == nil || l.certificate == nil {
		return nil
	}
	return CertificateBinding(l.certificate)
}

// ServerBinding is the binding of the server's connection; nil where there is none.
func (l *Endpoint) ServerBinding() []byte {
	if l.TLS == nil {
		return nil
	}
	if shown := l.TLS.ConnectionState().PeerCertificates; len(shown) > 0 {
		return CertificateBinding(shown[0].Raw)
	}
	return nil
}

// ServeTLS makes l a TLS connection of which the proxy is the server; ahead are bytes of the handshake that were read
// already.
func (l *Endpoint) ServeTLS(ahead []byte, conf *tls.Config) *tls.Conn {
	return l.secure(ahead, func(c net.Conn) *tls.Conn { return tls.Server(c, noteCertificate(l, conf)) })
}

// StartTLS makes l a TLS connection of which the proxy is the client.
func (l *Endpoint) StartTLS(conf *tls.Config) *tls.Conn {
	own := conf.Clone()
	own.DynamicRecordSizingDisabled = true
	return l.secure(nil, func(c net.Conn) *tls.Conn { return tls.Client(c, own) })
}

// noteCertificate returns a configuration for the handshake of l alone that behaves as conf and
// notes which certificate was shown. Sessions are not resumed, as in Postgres: a resumed one shows
// no certificate.
func noteCertificate(l *Endpoint, conf *tls.Config) *tls.Config {
	own := conf.Clone()
	own.SessionTicketsDisabled = true
	own.DynamicRecordSizingDisabled = true // a batch goes out in one record; Go would begin with many of a packet's size
	own.Certificates = nil
	own.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		cert, err := chooseCertificate(conf, hello)
		if err == nil && len(cert.Certificate) > 0 {
			l.certificate = cert.Certificate[0]
		}
		return cert, err
	}
	if conf.GetConfigForClient != nil {
		own.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			other, err := conf.GetConfigForClient(hello)
			if err != nil || other == nil {
				return nil, err
			}
			return noteCertificate(l, other), nil
		}
	}
	return own
}

// chooseCertificate does what crypto/tls would do with conf.
func chooseCertificate(conf *tls.Config, hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if conf.GetCertificate != nil && (len(conf.Certificates) == 0 || hello.ServerName != "") {
		if cert, err := conf.GetCertificate(hello); cert != nil || err != nil {
			return cert, err
		}
	}
	if len(conf.Certificates) == 0 {
		return nil, errNoCertificate
	}
	for i := range conf.Certificates {
		if hello.SupportsCertificate(&conf.Certificates[i]) == nil {
			return &conf.Certificates[i], nil
		}
	}
	return &conf.Certificates[0], nil
}

var errNoCertificate = errors.New("no certificate to show")
