package proxy

import "encoding/binary"

// Codes of the Authentication messages.
const (
	authOK                = 0
	authKerberosV5        = 2
	authCleartextPassword = 3
	authMD5Password       = 5
	authGSS               = 7
	authGSSContinue       = 8
	authSSPI              = 9
	authSASL              = 10
	authSASLContinue      = 11
	authSASLFinal         = 12
)

// mechanisms reads the list of an AuthenticationSASL.
func mechanisms(m []byte) ([]string, bool) {
	var out []string
	for rest := m[headerSize+4:]; ; {
		name, tail, ok := cstring(rest)
		if !ok {
			return nil, false
		}
		if len(name) == 0 {
			return out, true
		}
		out = append(out, string(name))
		rest = tail
	}
}

// initialResponse reads a SASLInitialResponse; without data in it the data is nil.
func initialResponse(m []byte) (mechanism string, data []byte, ok bool) {
	name, rest, ok := cstring(m[headerSize:])
	if !ok || len(rest) < 4 {
		return "", nil, false
	}
	size, rest := int32(binary.BigEndian.Uint32(rest)), rest[4:]
	switch {
	case size == -1 && len(rest) == 0:
		return string(name), nil, true
	case size < 0 || int(size) != len(rest):
		return "", nil, false
	}
	return string(name), rest[:size:size], true
}

func appendAuth(dst []byte, code uint32, data []byte) []byte {
	return appendFrame(dst, msgAuthentication, binary.BigEndian.AppendUint32(nil, code), data)
}

func appendSASL(dst []byte, mechanisms []string) []byte {
	var list []byte
	for _, name := range mechanisms {
		list = append(append(list, name...), 0)
	}
	return appendAuth(dst, authSASL, append(list, 0))
}

func appendPassword(dst, data []byte) []byte { return appendFrame(dst, msgPassword, data) }

func appendInitialResponse(dst []byte, mechanism string, data []byte) []byte {
	body := append([]byte(mechanism), 0)
	body = binary.BigEndian.AppendUint32(body, uint32(len(data)))
	return appendPassword(dst, append(body, data...))
}
