// Package origin says which addresses count as one, where something is shared by address.
package origin

import "net/netip"

// Of is what an address counts as: of IPv6 the network that one host has, of loopback all of it, for any
// user of a machine has all of 127.0.0.0/8. It is the zero value where there is no address.
func Of(a netip.Addr) netip.Prefix {
	a = a.Unmap()
	if a.IsLoopback() {
		a = netip.IPv6Loopback()
	}
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, _ := a.WithZone("").Prefix(bits) // fails only without an address
	return p
}
