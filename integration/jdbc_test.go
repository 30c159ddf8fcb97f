package integration

import (
	"path/filepath"
	"testing"
)

const jdbcDriver = "/usr/share/java/postgresql.jar"

// JDBC: typed parameters, statements prepared on the server from their first use, binary
// transfer, CallableStatement, batches, portals with row limits, COPY, cancel.
func TestJDBC(t *testing.T) {
	t.Parallel()
	needFile(t, jdbcDriver, "libpostgresql-jdbc-java")
	javac, java := tool(t, "javac", "a JDK (default-jdk-headless)"), tool(t, "java", "a JDK (default-jdk-headless)")
	classes := t.TempDir()
	sources, err := filepath.Glob("java/*.java")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no Java sources: %v", err)
	}
	args := append([]string{"-nowarn", "-cp", jdbcDriver, "-d", classes}, sources...)
	if got := run(t, nil, "", "", javac, args...); got.status != 0 {
		t.Fatalf("javac: status %d\n%s%s", got.status, got.stdout, got.stderr)
	}
	clientProgram{
		program: java,
		args:    []string{"-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", jdbcDriver + ":" + classes, "Client"},
		lines:   20,
	}.test(t)
}
