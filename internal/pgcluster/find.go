package pgcluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// EnvBinDir names the environment variable that overrides the search of Find.
const EnvBinDir = "MBUS_PG_BINDIR"

// Installation is a Postgres that can make and run clusters.
type Installation struct {
	BinDir  string // holds initdb and postgres; symbolic links resolved
	Version string // as the server prints it, for example "15.18"
	Major   int    // for example 15
}

const installHint = "install it with `apt install postgresql` (Debian, Ubuntu), `dnf install postgresql-server postgresql-contrib` (Fedora) " +
	"or `brew install postgresql` (macOS), or set " + EnvBinDir + " to the folder that holds initdb and postgres"

// Find looks for an installation: in the folder named by MBUS_PG_BINDIR (and then nowhere else),
// on PATH, where pg_config points, in Debian's /usr/lib/postgresql/*/bin, in the folders of the
// PGDG packages of Red Hat's family, and in Homebrew's; the newest major version of a place
// comes first. The first folder that holds a working initdb and postgres wins.
func Find() (Installation, error) {
	if dir := os.Getenv(EnvBinDir); dir != "" {
		inst, err := Inspect(dir)
		if err != nil {
			return Installation{}, &Error{
				Kind:    NotFound,
				Message: fmt.Sprintf("no usable Postgres in %s, which %s names: %v", dir, EnvBinDir, err),
				Hint:    "point " + EnvBinDir + " at the folder that holds initdb and postgres, or unset it",
				Err:     err,
			}
		}
		return inst, nil
	}
	return findIn(candidates())
}

func findIn(dirs []string) (Installation, error) {
	for _, dir := range dirs {
		if inst, err := Inspect(dir); err == nil {
			return inst, nil
		}
	}
	return Installation{}, &Error{
		Kind:    NotFound,
		Message: "no Postgres server was found on this machine (looked on PATH, at pg_config, in /usr/lib/postgresql and in Homebrew's folders)",
		Hint:    installHint,
	}
}

// candidates lists the folders to look at, best first; a folder need not exist.
func candidates() []string {
	var dirs []string
	for _, program := range []string{"postgres", "initdb"} {
		if path, err := exec.LookPath(program); err == nil {
			// A lone link to the server, as in /usr/local/bin, leads to the whole folder.
			if real, err := filepath.EvalSymlinks(path); err == nil {
				dirs = append(dirs, filepath.Dir(real))
			}
			dirs = append(dirs, filepath.Dir(path))
		}
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
		"/usr/local/pgsql/bin",
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			continue // only a malformed pattern fails, and these are not
		}
		sort.SliceStable(found, func(i, j int) bool { return folderVersion(found[i]) > folderVersion(found[j]) })
		dirs = append(dirs, found...)
	}
	return dirs
}

var digits = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)

// folderVersion guesses the version from a path such as /usr/lib/postgresql/15/bin; 0 if none.
func folderVersion(path string) float64 {
	v, err := strconv.ParseFloat(digits.FindString(path), 64)
	if err != nil {
		return 0
	}
	return v
}

var versionLine = regexp.MustCompile(`PostgreSQL\)? ([0-9]+)([^ \n]*)`)

// Inspect checks that dir holds initdb and postgres and asks the latter for its version.
func Inspect(dir string) (Installation, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return Installation{}, err
	}
	for _, program := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(filepath.Join(dir, program)); err != nil {
			return Installation{}, fmt.Errorf("looking for %s: %w", program, err)
		}
	}
	postgres := filepath.Join(dir, "postgres")
	out, err := exec.Command(postgres, "--version").Output()
	if err != nil {
		return Installation{}, fmt.Errorf("running %s --version: %w", postgres, err)
	}
	m := versionLine.FindStringSubmatch(string(out))
	if m == nil {
		return Installation{}, fmt.Errorf("reading the version of %s from %q", postgres, out)
	}
	major, err := strconv.Atoi(m[1])
	if err != nil {
		return Installation{}, fmt.Errorf("reading the version of %s: %w", postgres, err)
	}
	return Installation{BinDir: dir, Version: m[1] + m[2], Major: major}, nil
}

// checkExtension reports whether the control file of an extension is installed. Where the
// share folder cannot be found out, it says nothing and leaves the verdict to CREATE EXTENSION.
func (i Installation) checkExtension(name string) error {
	var looked []string
	for _, share := range i.shareDirs() {
		control := filepath.Join(share, "extension", name+".control")
		if _, err := os.Stat(control); err == nil {
			return nil
		}
		if _, err := os.Stat(filepath.Join(share, "extension")); err == nil {
			looked = append(looked, filepath.Join(share, "extension"))
		}
	}
	if len(looked) == 0 {
		return nil
	}
	return &Error{
		Kind: MissingExtension,
		Message: fmt.Sprintf("the extension %s is not installed for the Postgres %s in %s (no %s.control in %s)",
			name, i.Version, i.BinDir, name, looked[0]),
		Hint: fmt.Sprintf("install it with `apt install postgresql-contrib postgresql-%d` (Debian, Ubuntu) or `dnf install postgresql-contrib` (Fedora)", i.Major),
	}
}

// shareDirs lists where the share folder of the installation may be, surest first.
func (i Installation) shareDirs() []string {
	if out, err := exec.Command(filepath.Join(i.BinDir, "pg_config"), "--sharedir").Output(); err == nil {
		return []string{strings.TrimSpace(string(out))}
	}
	prefix := filepath.Dir(i.BinDir)
	return []string{
		filepath.Join(prefix, "share", "postgresql"),
		filepath.Join(prefix, "share"),
		filepath.Join("/usr/share/postgresql", strconv.Itoa(i.Major)),
	}
}
