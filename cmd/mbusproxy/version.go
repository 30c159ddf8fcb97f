package main

import (
	_ "embed"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
)

// release is the version that this source is of, or that it follows. Makefile, packages and CHANGELOG.md take it from the same file.
//
//go:embed VERSION
var release string

// version is set by the linker, see the Makefile: the release, or the release and the commit that the program is made of. It is never
// changed.
var version = ""

func versionString() string {
	if version != "" {
		return version
	}
	return strings.TrimSpace(release)
}

func versionCommand(std streams) *cobra.Command {
	f := newFlagSet("version", "version", "Prints the version.")
	return f.command("prints the version", func() error {
		_, err := fmt.Fprintf(std.out, "mbusproxy %s (%s, %s/%s)\n", versionString(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	})
}
