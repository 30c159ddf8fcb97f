package wiretest

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// Settings reads for how long a random test goes on, from prefix_TIME, and the seed it begins with, from
// prefix_SEED. Without them they are usual and a seed of the moment.
func Settings(t *testing.T, prefix string, usual time.Duration) (limit time.Duration, seed uint64) {
	t.Helper()
	limit, seed = usual, uint64(time.Now().UnixMicro())
	var err error
	if text := os.Getenv(prefix + "_TIME"); text != "" {
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	if text := os.Getenv(prefix + "_SEED"); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return limit, seed
}
