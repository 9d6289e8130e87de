package page

// Show answers with a view, and View is that of a visitor who got an answer.
var (
	Show = (*HTTP).show
	View = (*HTTP).view
)
