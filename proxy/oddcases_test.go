package proxy

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// The connections that TestOddStarts plays.

const (
	gssRequest = "\x00\x00\x00\x08\x04\xd2\x16\x30"
	v3         = 3 << 16
	terminate  = "X\x00\x00\x00\x04"
)

func sends(s ...string) []oddStep {
	var steps []oddStep
	for _, b := range s {
		steps = append(steps, oddStep{send: b})
	}
	return steps
}

// head is the beginning of a packet that says to be size bytes long.
func head(size uint32, rest string) string {
	return string(binary.BigEndian.AppendUint32(nil, size)) + rest
}

// parameterised is a startup packet of protocol 3 with these parameters, and the end of the session behind it.
func parameterised(code uint32, parameters ...string) string {
	return string(packet(code, strings.Join(parameters, "\x00")+"\x00\x00"))
}

func first(message string) []oddStep {
	return sends(parameterised(v3, "user", "postgres", "database", "postgres")+message, terminate)
}

func atPassword(user, message string) []oddStep {
	return sends(parameterised(v3, "user", user, "database", "postgres") + message)
}

// oddStarts are those for any server.
func oddStarts() []oddStart {
	var many []string
	for i := range 600 {
		many = append(many, fmt.Sprintf("a.b%d", i), "1")
	}
	odd := []oddStart{
		{name: "nothing"},
		{name: "one byte", steps: sends("\x00")},
		{name: "three bytes", steps: sends("\x00\x00\x00")},
		{name: "Terminate", steps: sends(terminate)},
		{name: "Query", steps: sends("Q\x00\x00\x00\x0dselect 1\x00")},
		{name: "Sync", steps: sends("S\x00\x00\x00\x04")},
		{name: "HTTP", steps: sends("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")},
		{name: "TLS at once", steps: sends("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")},
		{name: "rest does not come", steps: sends(head(80, "\x00\x03\x00\x00user\x00postgres\x00"))},
		{name: "only the length", steps: sends(head(80, ""))},
		{name: "only the length and code", steps: sends(head(9, "\x00\x03\x00\x00"))},
		{name: "comes in pieces", steps: sends("\x00\x00\x00", "\x17\x00", "\x03\x00\x00user\x00post", "gres\x00", "\x00", terminate)},
		{name: "largest", steps: sends(parameterised(v3, "user", "postgres", "_pq_.x", strings.Repeat("x", 10004-8-len("user.postgres._pq_.x..."))) + terminate)},
		{name: "largest, short of bytes", steps: sends(head(10004, "\x00\x03\x00\x00user\x00postgres\x00\x00"))},
		{name: "beyond the largest", steps: sends(parameterised(v3, "user", "postgres", "_pq_.x", strings.Repeat("x", 10005-8-len("user.postgres._pq_.x..."))))},
		{name: "no body", steps: sends(string(packet(v3, "")))},
		{name: "only the terminator", steps: sends(string(packet(v3, "\x00")))},
		{name: "no terminator", steps: sends(string(packet(v3, "user\x00postgres\x00")))},
		{name: "no terminator, value open", steps: sends(string(packet(v3, "user\x00postgres")))},
		{name: "no value", steps: sends(string(packet(v3, "user\x00")))},
		{name: "no value and terminator", steps: sends(string(packet(v3, "user\x00postgres\x00database\x00\x00")))},
		{name: "name without end", steps: sends(string(packet(v3, "user\x00postgres\x00database")))},
		{name: "bytes behind the terminator", steps: sends(string(packet(v3, "user\x00postgres\x00\x00x\x00")))},
		{name: "NUL behind the terminator", steps: sends(string(packet(v3, "user\x00postgres\x00\x00\x00")))},
		{name: "no user", steps: sends(parameterised(v3, "database", "postgres"))},
		{name: "empty user", steps: sends(parameterised(v3, "user", "", "database", "postgres"))},
		{name: "no database", steps: sends(parameterised(v3, "user", "postgres") + terminate)},
		{name: "empty database", steps: sends(parameterised(v3, "user", "postgres", "database", "") + terminate)},
		{name: "unknown user", steps: sends(parameterised(v3, "user", "nobody", "database", "postgres"))},
		{name: "unknown database", steps: sends(parameterised(v3, "user", "postgres", "database", "nix"))},
		{name: "user twice", steps: sends(parameterised(v3, "user", "nobody", "user", "postgres", "database", "nix", "database", "postgres") + terminate)},
		{name: "user twice, the bad one last", steps: sends(parameterised(v3, "user", "postgres", "user", "nobody"))},
		{name: "setting twice", steps: sends(parameterised(v3, "user", "postgres", "application_name", "a", "application_name", "b") + terminate)},
		{name: "unknown setting", steps: sends(parameterised(v3, "user", "postgres", "nix", "1"))},
		{name: "bad value", steps: sends(parameterised(v3, "user", "postgres", "DateStyle", "nix"))},
		{name: "setting that is fixed", steps: sends(parameterised(v3, "user", "postgres", "max_connections", "1"))},
		{name: "options", steps: sends(parameterised(v3, "user", "postgres", "options", "-c geqo=off -c nix.nix=1") + terminate)},
		{name: "bad options", steps: sends(parameterised(v3, "user", "postgres", "options", "-x"))},
		{name: "very many parameters", steps: sends(parameterised(v3, append([]string{"user", "postgres"}, many[:1000]...)...) + terminate)},
		{name: "name not ASCII", steps: sends(parameterised(v3, "user", "j\xc3\xb6rg", "database", "postgres"))},
		{name: "name not UTF-8", steps: sends(parameterised(v3, "user", "j\xf6rg", "database", "\xff\xfe"))},
		{name: "name with quotes", steps: sends(parameterised(v3, "user", "a\"b'c\n", "database", "%s"))},
		{name: "long names", steps: sends(parameterised(v3, "user", strings.Repeat("u", 100), "database", strings.Repeat("d", 100)))},
		{name: "long database", steps: sends(parameterised(v3, "user", "postgres", "database", strings.Repeat("\xc3\xa4", 50)))},
		{name: "password asked, rest does not come", steps: atPassword("clear_user", "p\x00\x00\x00\x0bsec"), more: "FATAL 08006"},
		{name: "password asked, nothing comes", steps: atPassword("scram_user", ""), more: "FATAL 08006"},
		{name: "wrong password", steps: atPassword("clear_user", "p\x00\x00\x00\x0awrong\x00")},
		{name: "empty password", steps: atPassword("clear_user", "p\x00\x00\x00\x05\x00")},
		{name: "no password", steps: atPassword("clear_user", "p\x00\x00\x00\x04")},
		{name: "password without NUL", steps: atPassword("clear_user", "p\x00\x00\x00\x0asecret")},
	}
	for _, size := range []uint32{0, 1, 3, 4, 5, 7, 10005, 20000, 1 << 20, 1 << 31, 0xfffffffc, 0xffffffff} {
		odd = append(odd, oddStart{name: fmt.Sprintf("length %d", size), steps: sends(head(size, "\x00\x03\x00\x00user\x00postgres\x00\x00"))})
	}
	for _, code := range []uint32{
		0, 1 << 16, 2 << 16, 2<<16 | 1, 4 << 16, 0xffffffff, 1234 << 16, 1234<<16 | 5677, 1234<<16 | 5681, 1233<<16 | 5679,
	} {
		odd = append(
			odd,
			oddStart{name: fmt.Sprintf("protocol %d.%d", code>>16, code&0xffff), steps: sends(parameterised(code, "user", "postgres"))},
			oddStart{name: fmt.Sprintf("protocol %d.%d, empty", code>>16, code&0xffff), steps: sends(string(packet(code, "")))},
		)
	}
	for _, code := range []uint32{v3 | 1, v3 | 3, v3 | 9999, v3 | 0xffff} {
		odd = append(
			odd,
			oddStart{name: fmt.Sprintf("minor %d", code&0xffff), steps: sends(parameterised(code, "user", "postgres", "_pq_.nix", "1", "_pq_.", "") + terminate)},
			oddStart{name: fmt.Sprintf("minor %d, no terminator", code&0xffff), steps: sends(string(packet(code, "user\x00postgres\x00")))},
			oddStart{name: fmt.Sprintf("minor %d, no user", code&0xffff), steps: sends(parameterised(code, "_pq_.nix", "1"))},
			oddStart{name: fmt.Sprintf("minor %d, refused", code&0xffff), steps: sends(parameterised(code, "user", "nobody", "_pq_.nix", "1"))},
		)
	}
	for _, value := range []string{"", "0", "off", "fa", "no", "true", "t", "T", "yes", "Y", "on", "o", "1", "2", "database", "DATABASE", "data", "nix"} {
		odd = append(odd, oddStart{name: "replication " + value, steps: sends(parameterised(v3, "user", "postgres", "replication", value) + terminate)})
	}
	for size := uint32(8); size <= 24; size += 4 {
		odd = append(odd, oddStart{name: fmt.Sprintf("cancel of length %d", size), steps: sends(head(size, "\x04\xd2\x16\x2e"+strings.Repeat("\x01", int(size-8))))})
	}
	odd = append(
		odd,
		oddStart{name: "cancel of length 280", steps: sends(head(280, "\x04\xd2\x16\x2e"+strings.Repeat("\x01", 272)))},
		oddStart{name: "cancel, rest does not come", steps: sends(head(16, "\x04\xd2\x16\x2e\x01"))},
	)
	for _, user := range []string{"clear_user", "md5_user", "scram_user"} {
		for name, message := range map[string]string{
			"Terminate": terminate, "Query": "Q\x00\x00\x00\x0dselect 1\x00", "type 0": "\x00\x00\x00\x00\x04", "type 255": "\xff",
			"only a type": "p", "length 0": "p\x00\x00\x00\x00", "length 3": "p\x00\x00\x00\x03", "negative length": "p\xff\xff\xff\xff",
			"length 65535": "p\x00\x00\xff\xff" + strings.Repeat("x", 65531), "length 65536": "p\x00\x01\x00\x00", "length 1 GB": "p\x40\x00\x00\x00",
			"another startup packet": parameterised(v3, "user", "postgres"), "SSLRequest": sslRequest, "SASL garbage": "p\x00\x00\x00\x08abcd",
			"unknown mechanism":          "p\x00\x00\x00\x0cnix\x00\x00\x00\x00\x00",
			"bad length of the response": "p\x00\x00\x00\x16SCRAM-SHA-256\x00\x00\x00\x00\x09",
		} {
			c := oddStart{name: user + " answers " + name, steps: atPassword(user, message)}
			if name == "only a type" {
				c.more = "FATAL 08006"
			}
			odd = append(odd, c)
		}
	}
	for name, message := range map[string]string{
		"unknown type": "z\x00\x00\x00\x04", "type 0": "\x00\x00\x00\x00\x04", "type 255": "\xff\xff\xff\xff\xff", "password": "p\x00\x00\x00\x05\x00",
		"server's type": "Z\x00\x00\x00\x05I", "length 0": "Q\x00\x00\x00\x00", "length 3": "S\x00\x00\x00\x03", "negative length": "Q\xff\xff\xff\xff",
		"unknown type of length 0": "z\x00\x00\x00\x00", "Sync of length 5": "S\x00\x00\x00\x05x", "Sync of length 10001": "S\x00\x00\x27\x11",
		"Terminate of length 5": "X\x00\x00\x00\x05x", "Query of 1 GB": "Q\x40\x00\x00\x00", "Query of 2 GB": "Q\x7f\xff\xff\xff", "Query without body": "Q\x00\x00\x00\x04",
		"Query without NUL": "Q\x00\x00\x00\x06ab", "Query with bytes behind": "Q\x00\x00\x00\x08a\x00b\x00", "CopyDone": "c\x00\x00\x00\x04", "CopyData": "d\x00\x00\x00\x05x",
		"another startup packet": parameterised(v3, "user", "postgres"), "SSLRequest": sslRequest, "Flush": "H\x00\x00\x00\x04", "Parse without body": "P\x00\x00\x00\x04S\x00\x00\x00\x04",
		"Bind garbage": "B\x00\x00\x00\x08\x00\x00\xff\xffS\x00\x00\x00\x04", "FunctionCall without body": "F\x00\x00\x00\x04", "Close of nothing": "C\x00\x00\x00\x06x\x00S\x00\x00\x00\x04",
	} {
		odd = append(odd, oddStart{name: "first message: " + name, steps: first(message)})
	}
	return odd
}

// oddWithoutTLS are those where the server has no encryption at all.
func oddWithoutTLS() []oddStart {
	ordinary := parameterised(v3, "user", "postgres", "database", "postgres") + terminate
	ssl, gss := oddStep{send: sslRequest, answer: 1}, oddStep{send: gssRequest, answer: 1}
	last := oddStep{send: ordinary}
	return []oddStart{
		{name: "SSL, plaintext", steps: []oddStep{ssl, last}},
		{name: "SSL, GSS, plaintext", steps: []oddStep{ssl, gss, last}},
		{name: "GSS, SSL, plaintext", steps: []oddStep{gss, ssl, last}},
		{name: "SSL, GSS, SSL, GSS, plaintext", steps: []oddStep{ssl, gss, ssl, gss, last}},
		{name: "SSL twice", steps: []oddStep{ssl, {send: sslRequest}}},
		{name: "GSS twice", steps: []oddStep{gss, {send: gssRequest}}},
		{name: "SSL twice at once", steps: sends(sslRequest + sslRequest), own: true},
		{name: "SSL with a packet", steps: sends(sslRequest + ordinary), own: true},
		{name: "GSS with a packet", steps: sends(gssRequest + ordinary), own: true},
		{name: "SSL with bytes inside", steps: []oddStep{{send: head(12, "\x04\xd2\x16\x2fabcd"), answer: 1}, last}},
		{name: "GSS with bytes inside", steps: []oddStep{{send: head(12, "\x04\xd2\x16\x30abcd"), answer: 1}, last}},
		{name: "SSL twice with bytes inside", steps: []oddStep{ssl, {send: head(12, "\x04\xd2\x16\x2fabcd")}}},
		{name: "SSL, then nothing", steps: []oddStep{ssl}},
		{name: "SSL, then Terminate", steps: []oddStep{ssl, {send: terminate}}},
		{name: "SSL, then half a length", steps: []oddStep{ssl, {send: "\x00\x00"}}},
		{name: "SSL, then TLS all the same", steps: []oddStep{ssl, {send: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"}}},
		{name: "SSL, then cancel", steps: []oddStep{ssl, {send: head(16, "\x04\xd2\x16\x2eabcdefgh")}}},
		{name: "SSL, then protocol 4", steps: []oddStep{ssl, {send: parameterised(4<<16, "user", "postgres")}}},
	}
}

// oddWithTLS are those where the server has TLS.
//
// Requests for GSS encryption are not among them: a server that was built with it takes them, and the proxy does not.
func oddWithTLS() []oddStart {
	ordinary := parameterised(v3, "user", "postgres", "database", "postgres") + terminate
	ssl := oddStep{send: sslRequest, answer: 1, tls: true}
	last := oddStep{send: ordinary}
	cases := []oddStart{
		{name: "ordinary", steps: []oddStep{ssl, last}},
		{name: "SSL within TLS", steps: []oddStep{ssl, {send: sslRequest}}},
		{name: "GSS within TLS", steps: []oddStep{ssl, {send: gssRequest}}},
		{name: "cancel within TLS", steps: []oddStep{ssl, {send: head(16, "\x04\xd2\x16\x2eabcdefgh")}}},
		{name: "length 7 within TLS", steps: []oddStep{ssl, {send: head(7, "abcd")}}},
		{name: "Terminate within TLS", steps: []oddStep{ssl, {send: terminate}}},
		{name: "no terminator within TLS", steps: []oddStep{ssl, {send: string(packet(v3, "user\x00postgres"))}}},
		{name: "protocol 4 within TLS", steps: []oddStep{ssl, {send: parameterised(4<<16, "user", "postgres")}}},
		{name: "protocol 2 within TLS", steps: []oddStep{ssl, {send: parameterised(2<<16, "user", "postgres")}}},
		{name: "nothing within TLS", steps: []oddStep{ssl}},
		{name: "handshake does not begin", steps: []oddStep{{send: sslRequest, answer: 1}}},
		{name: "handshake does not go on", steps: []oddStep{{send: sslRequest, answer: 1}, {send: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"}}},
		{name: "cleartext instead of a handshake", steps: []oddStep{{send: sslRequest, answer: 1}, last}},
		{name: "half a request", steps: sends("\x00\x00\x00\x08\x04\xd2")},
	}
	if shared.cluster.Installation().Major < 17 { // later ones take the bytes for part of the handshake, which fails then
		cases = append(cases, oddStart{name: "bytes behind the request", steps: []oddStep{{send: sslRequest + "abcd", answer: 1, tls: true}}, own: true})
	}
	return cases
}
