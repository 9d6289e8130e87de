package network

// Kept counts the networks that are kept, of all zones.
func (s *Shares) Kept() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kept := range s.zones {
		n += len(kept) - 1
	}
	return n
}
