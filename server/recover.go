package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/gin-gonic/gin"
)

// contain calls f and logs a panic, which would end the program outside of a request.
func contain(log *slog.Logger, message string, f func()) {
	defer func() {
		if v := recover(); v != nil {
			log.Error(message, "error", panicError(v))
		}
	}()
	f()
}

func panicError(v any) error { return fmt.Errorf("panic: %v\n%s", v, debug.Stack()) }

// recover turns a panic into a 500 and logs the stack. If a part of the answer has
// been sent, it closes the connection, so that the client does not take the part
// for the whole.
func (s *server) recover(c *gin.Context) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if v == http.ErrAbortHandler {
			panic(v)
		}
		err := panicError(v)
		if c.Writer.Written() {
			s.Log.Error("answer cut short", "id", requestIDOf(c), "error", err)
			panic(http.ErrAbortHandler)
		}
		s.fail(c, err)
	}()
	c.Next()
}
