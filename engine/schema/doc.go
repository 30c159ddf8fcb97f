// Package schema is what a database holds of ours: it installs and upgrades the schema mbus4 by the baseline and the numbered steps in
// steps, keeps its functions and the rights in rights as this program wants them, and tells whether what is found may be
// used at all.
//
// Invariants:
//   - A step is run once, in a transaction of its own; a step that was released never changes.
//   - A schema that is not ours or is newer, or of which anything belongs to somebody whom the engine's role has no reason to
//     trust, is refused and left untouched.
//   - Clients are waited for, and kept waiting, for seconds at most; another upgrade for as long as it takes.
//   - No advisory lock is taken: any role could hold it.
//
// The package does not know which services run, only how one of several takes the lead (Lead).
package schema
