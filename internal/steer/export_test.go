package steer

import "context"

// Begin begins what RunOnce waits for.
func (s *Steer) Begin(ctx context.Context) { s.begin(ctx) }
