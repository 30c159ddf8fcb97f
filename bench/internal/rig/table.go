package rig

import (
	"fmt"
	"strings"
)

// Table writes rows in Markdown; the first one is the head. Columns after the first `left` ones are
// numbers.
func Table(b *strings.Builder, left int, rows [][]string) {
	for i, row := range rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
		if i > 0 {
			continue
		}
		for j := range row {
			if j < left {
				b.WriteString("|---")
			} else {
				b.WriteString("|--:")
			}
		}
		b.WriteString("|\n")
	}
	b.WriteString("\n")
}
