// Package packaging tests what gets the program onto a machine: packages, systemd's units, the
// example of a configuration, the image, and the licences that go along. It holds no code of the
// program's.
package packaging
