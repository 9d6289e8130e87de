// Package markup cleans what an operator writes for the waiting page: HTML for its slots, and CSS.
//
// # HTML
//
// HTML keeps text, images and links. It has no id, no name, no form, no style attribute, no script and no frame, so nothing in a slot
// runs, and nothing can take the place of an element that the page's script looks for. All elements are closed. A class gets a
// prefix when it is shown, so it is none of the page's own.
//
// # CSS
//
// A stylesheet keeps the page's documented custom properties (Properties), and rules for what is in the slots. Each selector of a rule
// is put behind that of the slots. A property, function or address that is not known to be harmless is removed. What a slot
// paints stays within the slot: the page clips it (page.css).
//
// # Twice
//
// Clean is what an operator's change stores, with what was removed. The page cleans again what it shows, since what is in a
// store may not come from an operator.
package markup
