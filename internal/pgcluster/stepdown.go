package pgcluster

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the user that the server's processes run as.
type account struct {
	name     string
	uid, gid int
	stepDown bool // this process is root and the server is to run as somebody else
}

// serverAccount says who runs the server: the user we are, or, because Postgres refuses to run as
// root, the user postgres or else nobody.
func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{name: "uid " + strconv.Itoa(os.Geteuid()), uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(u.Uid)
		gid, gidErr := strconv.Atoi(u.Gid)
		if uidErr != nil || gidErr != nil || uid == 0 {
			continue
		}
		return account{name: name, uid: uid, gid: gid, stepDown: true}, nil
	}
	return account{}, &Error{
		Kind:    StartFailed,
		Message: "Postgres refuses to run as root, and this machine has neither a user postgres nor a user nobody to run it as",
		Hint:    "start mbusproxy as an ordinary user, or make one with `useradd --system postgres`",
	}
}

func (a account) credential() *syscall.Credential {
	if !a.stepDown {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
}

// unreachable returns the first folder on the way to path (path itself left out) that the account
// may not pass through; "" if none. It is asked only when stepping down: root sees every folder,
// the server does not.
func (a account) unreachable(path string) string {
	blocked := ""
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && !a.may(info, 1) {
			blocked = dir
		}
		if dir == filepath.Dir(dir) {
			return blocked
		}
	}
}

// may tells whether the account has the permission bits (4 read, 2 write, 1 search) on a file.
func (a account) may(info os.FileInfo, bits os.FileMode) bool {
	mode := info.Mode().Perm()
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		switch {
		case int(st.Uid) == a.uid:
			mode >>= 6
		case int(st.Gid) == a.gid:
			mode >>= 3
		}
	}
	return mode&bits == bits
}

// owns tells whether the file belongs to the account.
func (a account) owns(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == a.uid
}

// ownerName says whose a file is, by name where there is one.
func ownerName(info os.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "somebody else"
	}
	if u, err := user.LookupId(strconv.Itoa(int(st.Uid))); err == nil {
		return u.Username
	}
	return fmt.Sprintf("uid %d", st.Uid)
}
