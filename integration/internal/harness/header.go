package harness

import (
	"fmt"
	"strings"
)

// WaitFor is the header consume_after, by which a message waits for others.
func WaitFor(iids ...string) string {
	return fmt.Sprintf(`consume_after=>"{%s}"`, strings.Join(iids, ","))
}
