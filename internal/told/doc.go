// Package told has the failures of the program as people are told them: an [Error] is one sentence
// and what to do about it. [Of] makes one of what the engine says.
//
// What may fail, and which words are found for it, is known to whoever makes an Error: the
// commands, and what they start.
package told
