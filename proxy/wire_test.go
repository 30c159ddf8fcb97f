package proxy

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
)

var update = flag.Bool("update", false, "write the golden files anew") //nolint:gochecknoglobals // a flag

// TestWireTranscripts plays the scripts in testdata/wire. A line "> Message arguments" is sent,
// lines up to "wait" go in one write; "wait Z" reads up to the next message of one of the types
// given by their letters. Lines "< …" are what came and are the golden part.
//
// A file whose first line is "# direct" is also played without the proxy, with the same result.
func TestWireTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = proxytest.Marking{Visible: true} })
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
				raw, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				want := string(raw)
				got := playScript(t, p.addr, want)
				if *update {
					if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
						t.Fatal(err)
					}
				} else if got != want {
					t.Errorf("got\n%s", got)
				}
				if strings.HasPrefix(want, "# direct") {
					direct := playScript(t, fmt.Sprintf("127.0.0.1:%d", shared.cluster.Port()), want)
					if direct != got {
						t.Errorf("without the proxy\n%s", direct)
					}
				}
			})
		}
	})
}

func playScript(t *testing.T, addr, script string) string {
	t.Helper()
	w := login(t, addr)
	defer func() { _ = w.conn.Close() }()
	var out strings.Builder
	var batch []pgproto3.FrontendMessage
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "< "):
			continue
		case strings.HasPrefix(line, "> "):
			batch = append(batch, parseMessage(t, line[2:]))
			fmt.Fprintln(&out, line)
		case strings.HasPrefix(line, "wait "):
			w.send(batch...)
			batch = nil
			fmt.Fprintln(&out, line)
			for reply := range strings.SplitSeq(w.until([]byte(line[5:])...), "\n") {
				fmt.Fprintln(&out, "<", reply)
			}
		default:
			fmt.Fprintln(&out, line)
		}
	}
	return out.String()
}

// parseMessage reads a message of a script: its name and arguments in double quotes or plain.
func parseMessage(t *testing.T, line string) pgproto3.FrontendMessage {
	t.Helper()
	name, rest, _ := strings.Cut(line, " ")
	var args []string
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		if rest[0] != '"' {
			var word string
			word, rest, _ = strings.Cut(rest, " ")
			args = append(args, word)
			continue
		}
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		arg, _ := strconv.Unquote(quoted)
		args, rest = append(args, arg), rest[len(quoted):]
	}
	arg := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	switch name {
	case "Query":
		return &pgproto3.Query{String: arg(0)}
	case "Parse":
		return &pgproto3.Parse{Name: arg(0), Query: arg(1)}
	case "Bind":
		m := &pgproto3.Bind{DestinationPortal: arg(0), PreparedStatement: arg(1)}
		for _, v := range args[min(2, len(args)):] {
			m.Parameters = append(m.Parameters, []byte(v))
		}
		return m
	case "Describe":
		return &pgproto3.Describe{ObjectType: arg(0)[0], Name: arg(1)}
	case "Close":
		return &pgproto3.Close{ObjectType: arg(0)[0], Name: arg(1)}
	case "Execute":
		rows, _ := strconv.Atoi(arg(1))
		return &pgproto3.Execute{Portal: arg(0), MaxRows: uint32(rows)}
	case "Sync":
		return &pgproto3.Sync{}
	case "Flush":
		return &pgproto3.Flush{}
	case "CopyData":
		return &pgproto3.CopyData{Data: []byte(arg(0))}
	case "CopyDone":
		return &pgproto3.CopyDone{}
	case "CopyFail":
		return &pgproto3.CopyFail{Message: arg(0)}
	case "FunctionCall":
		oid, _ := strconv.Atoi(arg(0))
		return &pgproto3.FunctionCall{Function: uint32(oid)}
	default:
		t.Fatalf("unknown message %q", name)
		return nil
	}
}
