package change

// RevokeAll says what it does to revoke all admissions of a zone with a cap, of which so many are inside.
func RevokeAll(inside int64) (s Says) {
	s.Warn("All sessions end (%s inside). Every server refuses them within a second, and those visitors queue again.", count(inside))
	s.Add("Nobody is admitted for a second. Then the line goes on at the limit.")
	s.Warn("This cannot be undone.")
	return s
}

// Visitor says where a visitor stands, by the words for it.
func Visitor(words string) (s Says) {
	s.Add("The visitor: %s.", words)
	return s
}

// GiveUp says what it does to give up the place of a visitor who stands there.
func GiveUp(words string) Says {
	s := Visitor(words)
	s.Warn("The place is gone, and nobody else is moved. The visitor may join again, at the end.")
	s.Warn("This cannot be undone.")
	return s
}

// Reset says what it does to forget the admissions of a zone that may have been lost, of which there are so many.
func Reset(lost int64) (s Says) {
	if lost == 0 {
		s.Add("The store has lost nobody, so the count stays as it is.")
		return s
	}
	s.Add("The store lost data and counts %s admissions that may still be inside. They are not counted any more.", count(lost))
	s.Warn("Visitors among them who are still inside come on top of maxInside.")
	return s
}
