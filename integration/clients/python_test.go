package clients

import (
	"testing"

	"mbusproxy/integration/internal/programs"
)

// psycopg2: the simple protocol with values written into the text.
func TestPsycopg2(t *testing.T) {
	t.Parallel()
	programs.NeedPython(t, "psycopg2", "python3-psycopg2")
	clientProgram{program: programs.Python, args: []string{"python/psycopg2_client.py"}, lines: 20}.test(t)
}

// psycopg 3: the extended protocol, named statements, binary results, pipelines.
func TestPsycopg3(t *testing.T) {
	t.Parallel()
	programs.NeedPython(t, "psycopg", "python3-psycopg")
	clientProgram{program: programs.Python, args: []string{"python/psycopg3_client.py"}, lines: 20}.test(t)
}
