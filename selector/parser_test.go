package selector

import (
	"context"
	"sync"

	"mbusproxy/rewrite/parse"
)

var testParser = sync.OnceValue(parse.New)

// compile is Compile with a parser that all tests share.
func compile(text string, env Env) (*Selector, error) {
	return Compile(context.Background(), testParser(), text, env)
}
