//go:build nomcp

package server

import "net/http"

// newAgents returns nil: agents are not served.
func (s *server) newAgents() map[bool]http.Handler { return nil }

func (req *request) mcp() error { return req.noResource() }
