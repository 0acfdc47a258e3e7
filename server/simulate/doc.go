// Package simulate has the rules by which a service answers slowly, fails, or gives
// a fixed answer.
//
// An Effect is what is done to a request: a delay, a hold, and how it ends. A Rule
// has an effect and says which requests it is for. Parse reads rules from JSON;
// Rules is a list in use: the first rule that matches applies. The package
// knows no HTTP server: package server asks for the effect and carries it out.
package simulate
