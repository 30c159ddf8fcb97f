package main

import (
	"fmt"

	"mbusproxy/internal/app"
)

// disableBadSelectors explains the flag, which init and serve have.
const disableBadSelectors = "when upgrading the schema, keep consumers and triggers whose selectors are no longer allowed;\nthey get no more messages (without it the upgrade stops and lists them)"

func runInit(args []string, std streams) error {
	f := newFlagSet("init", "init --admin DSN",
		"Creates the schema mbus4 in the database that the DSN names, or upgrades it to what this program\nneeds. `mbusproxy serve` does the same by itself unless it is told --no-init.")
	admin := f.String("admin", "", "`DSN` of the database and of a role that may create schemas in it")
	disable := f.Bool("disable-bad-selectors", false, disableBadSelectors)
	if err := f.parse(args, std); err != nil {
		return err
	}
	if *admin == "" {
		return f.missing("admin")
	}
	ctx, release := untilSignal(func() {})
	defer release()
	said, err := app.Init(ctx, *admin, *disable)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.out, said)
	return err
}
