// Package architecture has no code: its tests hold the whole tree to the rules that
// neither the compiler nor a linter knows. Which way the imports point, what a
// package may be called, how long a file may grow, that links of documents lead
// somewhere, and that each Lua script says what it is for.
//
// A rule that is in your way is changed here, in the same commit as the code
// that needs it, with the reason; a line that is excused in place is not.
package architecture
