// Package sqlfuncs is the catalogue of the functions that mbusproxy serves: their names, their
// parameters with types and defaults, what they return and what they do to the database.
//
// It is a leaf: it knows neither SQL texts (package engine/calls owns them) nor how calls are found in a
// statement (package rewrite does that). Everything in it is immutable after init and safe for
// concurrent use.
package sqlfuncs
