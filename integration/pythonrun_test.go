package integration

import "testing"

// python is Debian's own interpreter: the one that sees Debian's python3-psycopg packages.
const python = "/usr/bin/python3"

// needPython fails with what to install when Python lacks a module.
func needPython(t *testing.T, module, install string) {
	t.Helper()
	needFile(t, python, "python3")
	if got := run(t, nil, "", "", python, "-c", "import "+module); got.status != 0 {
		t.Fatalf("%s cannot import %s: install %s\n%s", python, module, install, got.stderr)
	}
}
