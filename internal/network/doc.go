// Package network counts by network who takes places in a zone, and refuses joins of a network that has its share of the line.
//
//	join ──> Shares.Begin ──> over its share? ErrShare, before the store is asked
//	              └──> Join ──> the store ──> Join.End: a new place counts
//
// # Networks
//
// An address counts for a /48, a /56 and a /64 of IPv6, or a /20 and a /24 of IPv4, and for the autonomous system (AS) that announces it,
// if File knows that. One /64 is one subscriber, and a line for a home or a site has up to 65,536 of them (RFC 6177), so the zone's
// maxShareByNetwork bounds each width. The many subscribers of a mobile provider share the few /24 of its address translation (CGNAT), or
// a /48, so maxShareByNetwork bounds a /20, a /24 and a /48 only where the AS is unknown. A share that an operator gives to one network
// holds in place of those of wider networks.
//
// # What nobody used
//
// In a zone with a cap each admission takes a slot, also one that nobody comes to use. So while there is room, a network may have
// its share of the cap in admissions whose passes were not shown at this server, and not expired. It may always have Floor, or a fifth of a
// small cap.
//
// # Why each server may count for itself
//
// While there is a line, a server admits a join of a network if that network then has at most the share s of the places that were taken
// on this server in the last ten minutes, or for keepPlaceSeconds where that is longer. So with servers i, where n(i) places are the network's and all(i) are all of them, n(i) <= s *
// all(i). The sum over all servers is n <= s * all, however a load balancer spreads the joins. The first Floor joins of a network are
// always admitted: each server admits its part of them, so that adds Floor for all of them together. Places that were taken while there was room count, too.
//
// # What is kept
//
// Networks are kept in memory for as long, addresses not at all. A zone has at most maxNetworks. When there are more, the half of
// them with the fewest joins is forgotten. A network of that half had at most 0.2 % of the zone's joins, since maxNetworks / 2 others had
// as many, and a join counts for four networks at most.
package network
