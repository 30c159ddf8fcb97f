package wire

import "encoding/binary"

// Codes of the Authentication messages.
const (
	AuthOK                = 0
	authKerberosV5        = 2
	AuthCleartextPassword = 3
	AuthMD5Password       = 5
	authGSS               = 7
	authGSSContinue       = 8
	authSSPI              = 9
	AuthSASL              = 10
	AuthSASLContinue      = 11
	AuthSASLFinal         = 12
)

// Mechanisms reads the list of an AuthenticationSASL.
func Mechanisms(m []byte) ([]string, bool) {
	var out []string
	for rest := m[HeaderSize+4:]; ; {
		name, tail, ok := CString(rest)
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

// InitialResponse reads a SASLInitialResponse; without data in it the data is nil.
func InitialResponse(m []byte) (mechanism string, data []byte, ok bool) {
	name, rest, ok := CString(m[HeaderSize:])
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

// AppendAuth appends an Authentication message.
func AppendAuth(dst []byte, code uint32, data []byte) []byte {
	return AppendFrame(dst, MsgAuthentication, binary.BigEndian.AppendUint32(nil, code), data)
}

// AppendSASL appends an AuthenticationSASL with these mechanisms.
func AppendSASL(dst []byte, mechanisms []string) []byte {
	var list []byte
	for _, name := range mechanisms {
		list = append(append(list, name...), 0)
	}
	return AppendAuth(dst, AuthSASL, append(list, 0))
}

// AppendPassword appends a PasswordMessage or SASLResponse.
func AppendPassword(dst, data []byte) []byte { return AppendFrame(dst, MsgPassword, data) }

// AppendInitialResponse appends a SASLInitialResponse with data.
func AppendInitialResponse(dst []byte, mechanism string, data []byte) []byte {
	body := append([]byte(mechanism), 0)
	body = binary.BigEndian.AppendUint32(body, uint32(len(data)))
	return AppendPassword(dst, append(body, data...))
}
