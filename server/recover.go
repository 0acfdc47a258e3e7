package server

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"pickup/server/internal/httpx"
)

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
		err := httpx.PanicError(v)
		if c.Writer.Written() {
			s.Log.Error("answer cut short", "id", requestIDOf(c), "error", err)
			panic(http.ErrAbortHandler)
		}
		s.fail(c, err)
	}()
	c.Next()
}
