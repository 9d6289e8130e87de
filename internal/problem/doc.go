// Package problem answers every request that ends with an error, on all listeners: with the document of the error's refusal, counted
// by its code. An error without a refusal becomes a 500. It is logged once, here, and its text is never sent.
package problem
