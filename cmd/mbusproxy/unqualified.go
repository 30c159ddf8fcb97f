package main

import "mbusproxy/internal/app"

const unqualifiedUsage = "`NAMES` also serve calls of these functions without the schema, if it is in the search_path: all, or names in which " +
	"* stands for a queue or consumer, such as post,post_*,consume_*_by_*; may be repeated"

// checkUnqualified refuses names that are none of the catalogue's.
func (f *flagSet) checkUnqualified(cfg *app.Config) error {
	if err := app.CheckUnqualified(cfg.Unqualified); err != nil {
		return f.misuse("--unqualified: " + err.Error())
	}
	return nil
}
