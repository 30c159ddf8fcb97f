// Command mbusproxy stands between clients and a Postgres server and serves the functions of the
// schema mbus4. This package holds flags, signals and exit codes; the rest is internal/app's.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1 // the program could not do what was asked
	exitUsage   = 2 // what was asked makes no sense
)

// streams are where a command writes.
type streams struct {
	out io.Writer // results
	err io.Writer // errors and the log
}

// command is one of the words that may follow mbusproxy.
type command struct {
	name, summary string
	run           func(args []string, std streams) error
}

func commands() []command {
	return []command{
		{"dev", "starts a private Postgres and the proxy, and says how to connect", runDev},
		{"serve", "starts the proxy in front of a Postgres server of yours", runServe},
		{"init", "creates or upgrades the schema mbus4 in a database", runInit},
		{"explain", "prints how a statement is served, and the SQL that the server gets", runExplain},
		{"healthcheck", "asks a proxy on this machine whether it serves clients", runHealthcheck},
		{"doctor", "looks at a server and says what is in the way", runDoctor},
		{"version", "prints the version", runVersion},
	}
}

func main() {
	os.Exit(run(os.Args[1:], streams{out: os.Stdout, err: os.Stderr}))
}

// run dispatches to a command and turns its error into words and an exit code.
func run(args []string, std streams) int {
	if len(args) == 0 {
		usage(std.err)
		return exitUsage
	}
	switch args[0] {
	case "-h", "-help", "--help", "help":
		usage(std.out)
		return exitOK
	case "-version", "--version", "-v":
		args[0] = "version"
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		err := c.run(args[1:], std)
		switch {
		case err == nil, errors.Is(err, flag.ErrHelp):
			return exitOK
		default:
			return report(std.err, err)
		}
	}
	return report(std.err, &usageError{
		message: fmt.Sprintf("unknown command %q", args[0]),
		hint:    "`mbusproxy -h` lists the commands",
	})
}

func usage(w io.Writer) {
	fmt.Fprint(w, "mbusproxy is a proxy for Postgres that serves message queues as functions of the schema mbus4.\n\nUsage: mbusproxy COMMAND [FLAGS]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-11s %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, "\n`mbusproxy COMMAND -h` tells the flags of a command.\n")
}
