package clients

import (
	"os"
	"path/filepath"
	"testing"

	"mbusproxy/integration/internal/programs"
)

// node-postgres: the extended protocol with unnamed and named statements, text results, cursors
// and COPY streams.
func TestNodePostgres(t *testing.T) {
	t.Parallel()
	node := programs.Find(t, "node", "Node.js (nodejs)")
	dir, err := filepath.Abs("node")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "pg")); err != nil {
		npm := programs.Find(t, "npm", "npm")
		if got := programs.Run(t, nil, "", dir, npm, "ci", "--no-audit", "--no-fund"); got.Status != 0 {
			t.Fatalf("npm ci: status %d\n%s%s", got.Status, got.Stdout, got.Stderr)
		}
	}
	clientProgram{program: node, args: []string{"client.js"}, dir: dir, lines: 20}.test(t)
}
