package main

import (
	"strings"

	"github.com/spf13/pflag"
)

// twoDashes gives the long flags of a command line the two dashes that pflag wants of them:
// `-listen x` means `--listen x`, as it always has. What stands where a flag has its value, or
// behind `--`, is left as it is.
func twoDashes(flags *pflag.FlagSet, args []string) []string {
	out := make([]string, 0, len(args))
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			out = append(out, arg)
			break
		}
		name, _, valued := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		if !strings.HasPrefix(arg, "-") || name == "" {
			out = append(out, arg)
			continue
		}
		known := flags.Lookup(name)
		if known == nil && len(name) == 1 {
			known = flags.ShorthandLookup(name)
		}
		if !strings.HasPrefix(arg, "--") && len(name) > 1 {
			arg = "-" + arg
		}
		out = append(out, arg)
		if known != nil && known.NoOptDefVal == "" && !valued && len(args) > 0 {
			out, args = append(out, args[0]), args[1:]
		}
	}
	return append(out, args...)
}
