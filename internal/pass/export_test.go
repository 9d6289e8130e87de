package pass

import "github.com/google/uuid"

// JTI is what the pass of the grant has.
func JTI(g Grant) uuid.UUID { return g.jti() }
