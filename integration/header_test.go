package integration

import (
	"fmt"
	"strings"
)

// after is the header by which a message waits for others.
func after(iids ...string) string {
	return fmt.Sprintf(`consume_after=>"{%s}"`, strings.Join(iids, ","))
}
