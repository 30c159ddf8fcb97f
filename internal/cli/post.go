package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Message is what Post posts. Empty texts are not given.
type Message struct {
	Queue                 string
	Payload               string // JSON
	Data                  string // hstore, in its own notation
	Headers, Properties   []string
	Delay, ExpiresIn      string // intervals
	DelayedUntil, Expires string // times
	IID                   string
	UniqueKey, UniqueFor  string
}

// call is `mbus4.post(…)` with its parameters; payload is the expression that stands for it where it is not Payload.
func (m Message) call(payload string) (sql string, params []any, err error) {
	var given []string
	give := func(name, expression string, value string) {
		if value != "" {
			params = append(params, value)
			given = append(given, name+" => "+fmt.Sprintf(expression, len(params)))
		}
	}
	headers, err := toHstore("--header", m.Headers)
	if err != nil {
		return "", nil, err
	}
	properties, err := toHstore("--property", m.Properties)
	if err != nil {
		return "", nil, err
	}
	give("qname", "$%d", m.Queue)
	if payload != "" {
		given = append(given, "payload => "+payload)
	}
	give("payload", "$%d", m.Payload)
	give("data", "$%d", m.Data)
	give("headers", "$%d", headers)
	give("properties", "$%d", properties)
	const at, in = "$%d::pg_catalog.timestamptz::pg_catalog.timestamp", "localtimestamp operator(pg_catalog.+) $%d::pg_catalog.interval"
	give("delayed_until", at, m.DelayedUntil)
	give("delayed_until", in, m.Delay)
	give("expires", at, m.Expires)
	give("expires", in, m.ExpiresIn)
	give("iid", "$%d", m.IID)
	give("unique_key", "$%d", m.UniqueKey)
	give("unique_for", "$%d::pg_catalog.interval", m.UniqueFor)
	return "mbus4.post(" + strings.Join(given, ", ") + ")", params, nil
}

// toHstore makes an hstore of texts of the form key=value.
func toHstore(flag string, given []string) (string, error) {
	if len(given) == 0 {
		return "", nil
	}
	h := pgtype.Hstore{}
	for _, pair := range given {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return "", &Error{Message: fmt.Sprintf("%s %q is not of the form KEY=VALUE", flag, pair)}
		}
		h[key] = &value
	}
	text, err := h.Value()
	if err != nil {
		return "", fmt.Errorf("writing an hstore: %w", err)
	}
	return text.(string), nil
}

// Post posts a message and writes its iid: as a table, only that.
func (s *Session) Post(ctx context.Context, m Message, out Out) error {
	if m.Payload != "" && !json.Valid([]byte(m.Payload)) {
		return &Error{Message: "the payload is not valid JSON", Hint: `a text is written "…", with the quotes; --data takes hstore`}
	}
	sql, params, err := m.call("")
	if err != nil {
		return err
	}
	var r *Result
	err = s.act(ctx, func(ctx context.Context, _ pgx.Tx) (err error) {
		r, err = s.query(ctx, "select "+sql+" as iid", params...)
		return err
	})
	if err != nil {
		return err
	}
	return out.writeIIDs(r)
}

// PostLines posts each line of in, which is JSON, as a message, all in one transaction: all of them
// or none. Empty lines are none.
func (s *Session) PostLines(ctx context.Context, m Message, in io.Reader, bar *Progress, out Out) error {
	sql, params, err := m.call("each.line::pg_catalog.jsonb")
	if err != nil {
		return err
	}
	sql = fmt.Sprintf("select %s as iid from pg_catalog.unnest($%d::pg_catalog.text[]) as each (line)", sql, len(params)+1)
	return s.act(ctx, func(ctx context.Context, _ pgx.Tx) error {
		all := &Result{Columns: []Column{{Name: "iid"}}}
		post := func(lines []string) error {
			r, err := s.query(ctx, sql, append(params[:len(params):len(params)], toArray(lines))...)
			if err != nil {
				return err
			}
			all.Rows = append(all.Rows, r.Rows...)
			bar.Add(len(lines))
			return nil
		}
		const many, longest = 500, 64 << 20
		var lines []string
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, longest)
		for n := 1; scanner.Scan(); n++ {
			line := strings.TrimSpace(scanner.Text())
			if line == "" {
				continue
			}
			if !json.Valid([]byte(line)) {
				return &Error{Message: fmt.Sprintf("line %d is not valid JSON", n), Hint: "each line is one message; nothing was posted"}
			}
			if lines = append(lines, line); len(lines) == many {
				if err := post(lines); err != nil {
					return err
				}
				lines = lines[:0]
			}
		}
		if err := scanner.Err(); err != nil {
			return fmt.Errorf("reading lines: %w", err)
		}
		if len(lines) > 0 {
			if err := post(lines); err != nil {
				return err
			}
		}
		bar.Done()
		return out.writeIIDs(all)
	})
}

// toArray is the text of an array of texts.
func toArray(values []string) string {
	var b strings.Builder
	b.WriteByte('{')
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		_, _ = escape.WriteString(&b, v)
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

// writeIIDs writes iids, as a table one in each line and nothing else.
func (o Out) writeIIDs(r *Result) error {
	if o.Format != Table {
		return o.write(r)
	}
	var b strings.Builder
	for _, row := range r.Rows {
		if row[0] != nil {
			b.WriteString(Visible(*row[0]) + "\n")
		}
	}
	_, err := io.WriteString(o.W, b.String())
	return err
}
