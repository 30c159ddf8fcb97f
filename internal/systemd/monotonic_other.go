//go:build !linux

package systemd

import "time"

// monotonic has nobody to be compared with where there is no systemd.
func monotonic() (time.Duration, error) { return 0, nil }
