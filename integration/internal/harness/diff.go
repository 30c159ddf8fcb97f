package harness

import "strings"

// LineDiff shows the lines of two texts that are expected to be equal, the first ones that differ
// marked with - and +.
func LineDiff(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	var out strings.Builder
	for i := range max(len(as), len(bs)) {
		switch {
		case i < len(as) && i < len(bs) && as[i] == bs[i]:
			out.WriteString("  " + as[i] + "\n")
			continue
		case i < len(as):
			out.WriteString("- " + as[i] + "\n")
		}
		if i < len(bs) {
			out.WriteString("+ " + bs[i] + "\n")
		}
	}
	return out.String()
}
