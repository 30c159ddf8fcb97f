package clients

import (
	"path/filepath"
	"testing"

	"mbusproxy/integration/internal/programs"
)

const jdbcDriver = "/usr/share/java/postgresql.jar"

// JDBC: typed parameters, statements prepared on the server from their first use, binary
// transfer, CallableStatement, batches, portals with row limits, COPY, cancel.
func TestJDBC(t *testing.T) {
	t.Parallel()
	programs.NeedFile(t, jdbcDriver, "libpostgresql-jdbc-java")
	javac, java := programs.Find(t, "javac", "a JDK (default-jdk-headless)"), programs.Find(t, "java", "a JDK (default-jdk-headless)")
	classes := t.TempDir()
	sources, err := filepath.Glob("java/*.java")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no Java sources: %v", err)
	}
	args := append([]string{"-nowarn", "-cp", jdbcDriver, "-d", classes}, sources...)
	if got := programs.Run(t, nil, "", "", javac, args...); got.Status != 0 {
		t.Fatalf("javac: status %d\n%s%s", got.Status, got.Stdout, got.Stderr)
	}
	clientProgram{
		program: java,
		args:    []string{"-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", jdbcDriver + ":" + classes, "Client"},
		lines:   20,
	}.test(t)
}
