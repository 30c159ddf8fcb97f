package ops

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/internal/pgcluster"

	"mbusproxy/integration/internal/harness"
)

// standbyOf starts a streaming standby of a cluster. It does without pg_basebackup: not every
// installation of a server has one, and one of another major does not do.
func standbyOf(t *testing.T, primary *pgcluster.Cluster) *pgcluster.Cluster {
	t.Helper()
	ctx := harness.Context(t)
	top, err := os.MkdirTemp("", "mbus-standby")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	if err := os.Chmod(top, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "data")
	if err := backUp(ctx, primary, dir); err != nil {
		t.Fatalf("copying the primary: %v", err)
	}
	standby, err := pgcluster.Start(ctx, pgcluster.Config{
		Installation: primary.Installation(), Dir: dir,
		Settings: map[string]string{"fsync": "off", "primary_conninfo": primary.DSN("postgres")},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { harness.StopCluster(standby) })
	return standby
}

// backUp makes the data folder of a standby by the steps of the manual's "low-level" base backup. The
// WAL comes from the primary.
func backUp(ctx context.Context, primary *pgcluster.Cluster, dir string) error {
	conn, err := pgconn.Connect(ctx, primary.DSN("postgres"))
	if err != nil {
		return err
	}
	defer harness.Close(conn)
	if _, err := harness.Query(ctx, conn, "select pg_backup_start('standby', fast => true)"); err != nil {
		return err
	}
	if err := copyFolder(dir, primary.Dir()); err != nil {
		return err
	}
	label, err := harness.Query(ctx, conn, "select labelfile from pg_backup_stop(wait_for_archive => false)")
	if err != nil {
		return err
	}
	owner, err := ownerOf(primary.Dir())
	if err != nil {
		return err
	}
	for name, content := range map[string]string{"backup_label": label, "standby.signal": ""} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chown(path, owner.uid, owner.gid)); err != nil {
			return err
		}
	}
	return nil
}

type fileOwner struct{ uid, gid int }

func ownerOf(path string) (fileOwner, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return fileOwner{}, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileOwner{}, errors.New("no owner is known of " + path)
	}
	return fileOwner{int(stat.Uid), int(stat.Gid)}, nil
}

// copyFolder copies the data folder of a running server, without its WAL and what marks it as running.
// Files may come and go meanwhile.
func copyFolder(to, from string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		owner, err := ownerOf(path)
		if err == nil {
			target := filepath.Join(to, name)
			switch {
			case entry.IsDir():
				err = os.Mkdir(target, 0o700)
			case filepath.Dir(name) == "pg_wal" || name == "postmaster.pid" || !entry.Type().IsRegular():
				return nil
			default:
				err = copyFile(target, path)
			}
			if err == nil {
				err = os.Chown(target, owner.uid, owner.gid)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
