// Package input reads the texts of constants as the server's input functions do (boolin, array_in,
// hstore_in), and dates and times in ISO 8601 only, so that no setting of a session decides what a
// selector means.
//
// What it takes for valid is valid for the server and means the same there; it takes less than the server does.
// It is pure and knows neither types of the language nor its errors.
package input

// spaces are what the server's input functions take for white space.
const spaces = " \t\n\v\f\r"
