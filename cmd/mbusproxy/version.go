package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the linker, see the Makefile. It is never changed.
var version = ""

func versionString() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "development build"
}

func runVersion(args []string, std streams) error {
	f := newFlagSet("version", "version", "Prints the version.")
	if err := f.parse(args, std); err != nil {
		return err
	}
	_, err := fmt.Fprintf(std.out, "mbusproxy %s (%s, %s/%s)\n", versionString(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
