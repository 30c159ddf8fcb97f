package relay

import (
	"syscall"
	"unsafe"
)

// rawRead and rawWrite are for sockets that never block: they spare the scheduler the notice that
// a system call begins, and the kernel the way of read and write, which is that of files.
func rawRead(fd int, b []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), 0, 0, 0)
		if errno == 0 {
			return int(n), nil
		}
		if errno != syscall.EINTR {
			return -1, errno
		}
	}
}

func rawWrite(fd int, b []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), syscall.MSG_NOSIGNAL, 0, 0)
		if errno == 0 {
			return int(n), nil
		}
		if errno != syscall.EINTR {
			return -1, errno
		}
	}
}
