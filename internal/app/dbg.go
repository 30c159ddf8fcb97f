package app

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

var dbg [8]atomic.Int64

func init() {
	go func() {
		for {
			time.Sleep(time.Second)
			f, _ := os.OpenFile("/tmp/w/dbg", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			fmt.Fprint(f, os.Getpid(), " probes ", dbg[0].Swap(0), " found ", dbg[1].Swap(0), " vain ", dbg[2].Swap(0), " stood ", dbg[3].Swap(0), " standtimeout ", dbg[4].Swap(0), " woken ", dbg[5].Swap(0), "\n")
			f.Close()
		}
	}()
}
