package pgcluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
)

// Files of the data folder that each start writes or opens.
const (
	settingsFile = "mbusproxy.conf" // included from postgresql.conf
	hbaFile      = "pg_hba.conf"
	logFile      = "server.log"
	certFile     = "server.crt"
	keyFile      = "server.key"
	socketNote   = "mbusproxy.socket" // names the folder of this run's socket

	maxLogBytes = 10 << 20 // a server.log larger than this is begun anew
)

var defaultHBA = []string{
	"local all all trust",
	"host all all 127.0.0.1/32 trust",
	"host all all ::1/128 trust",
	"local replication all trust",
	"host replication all 127.0.0.1/32 trust",
	"host replication all ::1/128 trust",
}

// writeSettings writes what this start decides: settings, access rules, certificate.
func (f *folder) writeSettings(cfg Config) error {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return unusable(f.path, err)
	}
	defer func() { _ = root.Close() }()

	settings := map[string]string{}
	for k, v := range cfg.Settings {
		settings[k] = v
	}
	if cfg.TLSCert != "" {
		settings["ssl"] = "on"
		for from, to := range map[string]string{cfg.TLSCert: certFile, cfg.TLSKey: keyFile} {
			text, err := os.ReadFile(from)
			if err != nil {
				return fmt.Errorf("copying the server's certificate: %w", err)
			}
			if err := f.write(root, to, text); err != nil {
				return unusable(f.path, err)
			}
		}
	}
	var conf strings.Builder
	conf.WriteString("# Written by mbusproxy at each start.\n")
	escape := strings.NewReplacer(`\`, `\\`, `'`, `''`, "\n", `\n`)
	names := make([]string, 0, len(settings))
	for k := range settings {
		names = append(names, k)
	}
	sort.Strings(names)
	for _, k := range names {
		fmt.Fprintf(&conf, "%s = '%s'\n", k, escape.Replace(settings[k]))
	}
	hba := cfg.HBA
	if hba == nil {
		hba = defaultHBA
	}
	rules := "# Written by mbusproxy at each start.\n" + strings.Join(hba, "\n") + "\n"
	if err := f.write(root, settingsFile, []byte(conf.String())); err != nil {
		return unusable(f.path, err)
	}
	if err := f.write(root, hbaFile, []byte(rules)); err != nil {
		return unusable(f.path, err)
	}
	return nil
}

// write replaces a file whole, readable by the server's account alone.
func (f *folder) write(root *os.Root, name string, text []byte) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := root.WriteFile(name, text, 0o600); err != nil {
		return err
	}
	return f.own(root, name)
}

func (f *folder) own(root *os.Root, name string) error {
	if !f.who.stepDown {
		return nil
	}
	return root.Lchown(name, f.who.uid, f.who.gid)
}

// openLog opens server.log for appending.
func (f *folder) openLog() (*os.File, error) {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return nil, unusable(f.path, err)
	}
	defer func() { _ = root.Close() }()
	if info, err := root.Stat(logFile); err == nil && info.Size() > maxLogBytes {
		if err := root.Remove(logFile); err != nil {
			return nil, unusable(f.path, err)
		}
	}
	log, err := root.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, unusable(f.path, err)
	}
	if err := f.own(root, logFile); err != nil {
		_ = log.Close()
		return nil, unusable(f.path, err)
	}
	return log, nil
}

// noteSocketDir writes down where this run's socket is, and removes the folder of the last run if
// its parent was killed and could not. Only an empty folder goes: the note may be anybody's.
func (f *folder) noteSocketDir(dir string) {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	if last, err := root.ReadFile(socketNote); err == nil && strings.HasPrefix(filepath.Base(string(last)), socketPrefix) {
		_ = syscall.Rmdir(string(last))
	}
	_ = f.write(root, socketNote, []byte(dir)) // if this fails, an empty folder stays in /tmp
}
