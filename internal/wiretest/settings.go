package wiretest

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// Settings reads for how long a random test goes on, from prefix_TIME, and the seed it begins with, from
// prefix_SEED. Without both it takes the usual time and the same seed always, so that a short run says something
// of what has changed; a long one looks for more, with a seed of the moment.
func Settings(t *testing.T, prefix string, usual time.Duration) (limit time.Duration, seed uint64) {
	t.Helper()
	limit, seed = usual, 1
	var err error
	if text := os.Getenv(prefix + "_TIME"); text != "" {
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
		seed = uint64(time.Now().UnixMicro())
	}
	if text := os.Getenv(prefix + "_SEED"); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return limit, seed
}
