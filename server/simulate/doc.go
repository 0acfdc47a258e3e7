// Package simulate has stubs, the rules for simulated responses: slow, failing and fixed ones.
//
// An Effect says how to simulate a response: a delay, a hold, and an outcome. A Stub has an
// effect and the conditions on requests. Parse reads stubs from JSON. Stubs is a list in use:
// the first stub that matches a request applies. The package does not depend on the HTTP
// server: package server asks for the effect and carries it out.
package simulate
