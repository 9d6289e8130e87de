package wait

// Cached returns how many zones the cache behind State holds.
func Cached(s *Service) int {
	s.states.mu.Lock()
	defer s.states.mu.Unlock()
	return len(s.states.zones)
}
