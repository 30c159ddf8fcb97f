package programs

import "testing"

// Python is Debian's own interpreter: the one that sees Debian's python3-psycopg packages.
const Python = "/usr/bin/python3"

// NeedPython fails with what to install when Python lacks a module.
func NeedPython(t *testing.T, module, install string) {
	t.Helper()
	NeedFile(t, Python, "python3")
	if got := Run(t, nil, "", "", Python, "-c", "import "+module); got.Status != 0 {
		t.Fatalf("%s cannot import %s: install %s\n%s", Python, module, install, got.Stderr)
	}
}
