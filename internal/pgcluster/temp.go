package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Temp starts a throw-away cluster in a temporary folder, for tests. Its data need not
// survive a crash of the machine (fsync is off), and its Stop also removes the folder. Settings of
// cfg win over Temp's own; cfg.Dir is ignored. A killed one can be started again with Start on
// its Dir.
func Temp(cfg Config) (*Cluster, error) {
	top, err := os.MkdirTemp("", "mbuspg-")
	if err != nil {
		return nil, fmt.Errorf("making a temporary folder: %w", err)
	}
	// The server may run as another user than we are; the data folder itself is closed.
	if err := os.Chmod(top, 0o755); err != nil {
		return nil, errors.Join(err, os.RemoveAll(top))
	}
	settings := map[string]string{
		"fsync":            "off", // commits still survive Kill: the kernel has them
		"full_page_writes": "off",
	}
	for k, v := range cfg.Settings {
		settings[k] = v
	}
	cfg.Settings = settings
	cfg.Dir = filepath.Join(top, "data")
	cfg.throwAway = true
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c, err := Start(ctx, cfg)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(top))
	}
	c.remove = top
	return c, nil
}
