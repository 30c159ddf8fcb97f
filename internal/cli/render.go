package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/rivo/uniseg"
)

// Format is how results are written.
type Format string

// The formats of --output.
const (
	Table Format = "table" // for people
	JSON  Format = "json"  // one document: an array with an object for each row
	CSV   Format = "csv"   // a line with the names, then one for each row; null is an empty field
)

// Formats are all of them.
func Formats() []string { return []string{string(Table), string(JSON), string(CSV)} }

// Out is where results go.
type Out struct {
	W        io.Writer
	Format   Format
	Terminal bool // W is one: what it would obey is escaped in CSV, too
	Width    int  // columns of the terminal, to which tables are cut; 0: they are not cut
}

// Write writes a result.
func (o Out) Write(r *Result) error { return o.write(r) }

func (o Out) write(r *Result) error {
	var b bytes.Buffer
	switch o.Format {
	case JSON:
		r.toJSON(&b)
	case CSV:
		if err := r.toCSV(&b, o.Terminal); err != nil {
			return fmt.Errorf("writing CSV: %w", err)
		}
	default:
		r.toTable(&b, o.Width)
	}
	_, err := o.W.Write(b.Bytes())
	return err
}

// writeOne writes what may be one row: as a table it has a line for each value. No row is no table.
func (o Out) writeOne(r *Result) error {
	switch {
	case o.Format == Table && len(r.Rows) == 0:
		return nil
	case o.Format != Table || len(r.Rows) > 1:
		return o.write(r)
	}
	width := 0
	for _, c := range r.Columns {
		width = max(width, uniseg.StringWidth(Visible(c.Name)))
	}
	var b bytes.Buffer
	for i, c := range r.Columns {
		if v := r.Rows[0][i]; v != nil {
			fmt.Fprintf(&b, "%s  %s\n", padded(Visible(c.Name), width), Visible(*v))
		}
	}
	_, err := o.W.Write(b.Bytes())
	return err
}

func (r *Result) toJSON(b *bytes.Buffer) {
	b.WriteByte('[')
	for n, row := range r.Rows {
		if n > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n  {")
		for i, c := range r.Columns {
			if i > 0 {
				b.WriteString(", ")
			}
			var value bytes.Buffer
			if json.Compact(&value, c.asJSON(row[i])) != nil {
				panic("a value is no JSON") // asJSON has looked
			}
			b.WriteString(escapeJSON(string(quoted(c.Name)) + ": " + value.String()))
		}
		b.WriteByte('}')
	}
	if len(r.Rows) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString("]\n")
}

func (r *Result) toCSV(b *bytes.Buffer, terminal bool) error {
	w := csv.NewWriter(b)
	shown := func(s string) string {
		if terminal {
			return Visible(s)
		}
		return s
	}
	record := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		record[i] = shown(c.Name)
	}
	if err := w.Write(record); err != nil {
		return err
	}
	for _, row := range r.Rows {
		for i, v := range row {
			record[i] = ""
			if v != nil {
				record[i] = shown(*v)
			}
		}
		if err := w.Write(record); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// toTable writes the names and the rows in columns; numbers stand to the right. Columns without any
// value are left out, but for those of an empty result.
func (r *Result) toTable(b *bytes.Buffer, limit int) {
	cells := [][]string{{}}
	var right []bool
	for i, c := range r.Columns {
		if r.empty(i) {
			continue
		}
		right = append(right, c.kind == number)
		cells[0] = append(cells[0], Visible(c.Name))
	}
	for _, row := range r.Rows {
		var line []string
		for i, v := range row {
			switch {
			case r.empty(i):
			case v == nil:
				line = append(line, "")
			case r.Columns[i].kind == boolean:
				line = append(line, map[string]string{"t": "yes", "f": "no"}[*v])
			default:
				line = append(line, Visible(*v))
			}
		}
		cells = append(cells, line)
	}
	widths := make([]int, len(right))
	for _, line := range cells {
		for i, cell := range line {
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
	}
	for _, line := range cells {
		var text strings.Builder
		for i, cell := range line {
			if i > 0 {
				text.WriteString("  ")
			}
			if pad := strings.Repeat(" ", widths[i]-uniseg.StringWidth(cell)); right[i] {
				text.WriteString(pad + cell)
			} else {
				text.WriteString(cell + pad)
			}
		}
		b.WriteString(cut(strings.TrimRight(text.String(), " "), limit))
		b.WriteByte('\n')
	}
}

// empty tells whether a column has no value in any of the rows that there are.
func (r *Result) empty(column int) bool {
	for _, row := range r.Rows {
		if row[column] != nil {
			return false
		}
	}
	return len(r.Rows) > 0
}

func padded(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-uniseg.StringWidth(s)))
}

// cut shortens a line to a number of columns; 0 means that it may be as long as it is.
func cut(line string, limit int) string {
	if limit <= 0 || uniseg.StringWidth(line) <= limit {
		return line
	}
	var b strings.Builder
	width, state := 0, -1
	for rest := line; rest != ""; {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if width += w; width > limit-1 {
			break
		}
		b.WriteString(cluster)
	}
	return b.String() + "…"
}
