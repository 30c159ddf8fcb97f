package pgcluster

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func fakeBin(t *testing.T, dir, versionLine string) string {
	t.Helper()
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	// A process that another test starts in between would inherit the file open for writing, and the program could not be
	// started (ETXTBSY).
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	for _, program := range []string{"initdb", "postgres"} {
		script := "#!/bin/sh\necho '" + versionLine + "'\n"
		if err := os.WriteFile(filepath.Join(bin, program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}

func TestInspectReadsVersions(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]Installation{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)": {Version: "15.18", Major: 15},
		"postgres (PostgreSQL) 17beta1":                        {Version: "17beta1", Major: 17},
		"postgres (PostgreSQL) 14.12 (Homebrew)":               {Version: "14.12", Major: 14},
	} {
		bin := fakeBin(t, t.TempDir(), line)
		want.BinDir = bin
		if got, err := Inspect(bin); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", line, got, err)
		}
	}
	if _, err := Inspect(fakeBin(t, t.TempDir(), "something else")); err == nil {
		t.Error("a program that is no Postgres passes")
	}
}

func TestFindFollowsALoneLink(t *testing.T) {
	bin := fakeBin(t, t.TempDir(), "postgres (PostgreSQL) 16.1")
	links := t.TempDir()
	if err := os.Symlink(filepath.Join(bin, "postgres"), filepath.Join(links, "postgres")); err != nil {
		t.Fatal(err)
	}
	t.Setenv(EnvBinDir, "") // comes before PATH
	t.Setenv("PATH", links+":/usr/bin:/bin")
	got, err := Find()
	if err != nil || got.BinDir != bin || got.Major != 16 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestFindObeysTheVariable(t *testing.T) {
	bin := fakeBin(t, t.TempDir(), "postgres (PostgreSQL) 16.1")
	t.Setenv(EnvBinDir, bin)
	if got, err := Find(); err != nil || got.BinDir != bin {
		t.Errorf("got %+v, %v", got, err)
	}
	empty := t.TempDir()
	t.Setenv(EnvBinDir, empty)
	_, err := Find()
	wantError(t, err, NotFound, empty, EnvBinDir)
}

func TestMissingHstoreNamesThePackage(t *testing.T) {
	dir := t.TempDir()
	bin := fakeBin(t, dir, "postgres (PostgreSQL) 16.1")
	if err := os.MkdirAll(filepath.Join(dir, "share", "postgresql", "extension"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(EnvBinDir, bin)
	_, err := Start(t.Context(), Config{Dir: filepath.Join(dir, "data")})
	wantError(t, err, MissingExtension, "the extension hstore is not installed", "16.1", "apt install postgresql-contrib postgresql-16")
}

func TestFolderVersion(t *testing.T) {
	t.Parallel()
	if !(folderVersion("/usr/lib/postgresql/15/bin") > folderVersion("/usr/lib/postgresql/9.6/bin")) {
		t.Error("15 is newer than 9.6")
	}
}

func TestNothingFoundSaysWhatToInstall(t *testing.T) {
	t.Parallel()
	_, err := findIn([]string{t.TempDir(), "/no/such/folder"})
	wantError(t, err, NotFound, "no Postgres server was found", "apt install postgresql", EnvBinDir)
}
