package main

import (
	_ "embed"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"mbusproxy/internal/cli"
)

// release is the version that this source is of, or that it follows. Makefile, packages and
// CHANGELOG.md take it from the same file.
//
//go:embed VERSION
var release string

// version is set by the linker, see the Makefile: the release, or the release and the commit that
// the program is made of. It is never changed.
var version = ""

func versionString() string {
	if version != "" {
		return version
	}
	return strings.TrimSpace(release)
}

func versionCommand(std streams) *cobra.Command {
	f := newFlagSet("version", "version [--output FORM]", "Prints the version of mbusproxy, the version of Go, and the system for which the program was built.")
	f.String("output", "text", "`FORM` how to print the version: text, json or csv")
	f.oneOf("output", "text", "json", "csv")
	return f.command("prints the version", func() error {
		output, err := f.outputOf()
		if err != nil {
			return err
		}
		if output != "text" {
			r := cli.NewResult([]string{"version", "go", "os", "arch"})
			r.Append(versionString(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return cli.Out{W: std.out, Format: cli.Format(output)}.Write(r)
		}
		_, err = fmt.Fprintf(std.out, "mbusproxy %s (%s, %s/%s)\n", versionString(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	})
}
