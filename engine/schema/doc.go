// Package schema is what a database holds of ours: it installs the schema mbus4 by the files in
// baseline and upgrades it by those in steps, makes the functions that are the program's, gives the
// rights in rights, and tells whether what is found may be used at all. See
// docs/adr/0013-upgrades.md.
//
// Invariants:
//   - A step is run once, in a transaction of its own (but for one that builds an index); one that was released never changes.
//   - A step adds, or takes away what only programs older than its "oldest" need.
//   - A schema that is not ours, or which takes a newer program, or of which anything belongs to somebody whom the engine's
//     role has no reason to trust, is refused and left untouched.
//   - No client waits for a step for longer than stepLockWait at a time.
//   - Functions of other versions of the program are left alone.
//   - No advisory lock is taken: any role could hold it.
//
// The package does not know which services run, only how one of several takes the lead (Lead).
package schema
