// Package origin says which addresses count as one, where something is shared by address.
package origin

import "net/netip"

// Of is what an address counts as: that of Network, but all of loopback is one, for any user of a machine has all of
// 127.0.0.0/8. It is the zero value where there is no address.
func Of(a netip.Addr) netip.Prefix {
	if a = a.Unmap(); a.IsLoopback() {
		a = netip.IPv6Loopback()
	}
	return Network(a)
}

// Network is the address itself, of IPv6 the network that one host has. It is the zero value where there is no address.
func Network(a netip.Addr) netip.Prefix {
	a = a.Unmap()
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, _ := a.WithZone("").Prefix(bits) // fails only without an address
	return p
}
