package server

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"pickup/server/internal/httpx"
	"pickup/server/internal/requestlog"
	"pickup/server/openapi"
)

// A recordingWriter retains the beginning of a JSON response.
type recordingWriter struct {
	gin.ResponseWriter
	answer *requestlog.Excerpt
	log    *requestlog.Log
}

func (w *recordingWriter) Write(b []byte) (int, error) {
	if w.Header()["Content-Encoding"] == nil {
		w.retain(b)
	}
	return w.ResponseWriter.Write(b)
}

// retain retains the beginning of a part of a response, if the response is JSON.
func (w *recordingWriter) retain(b []byte) {
	h := w.Header()
	t := httpx.Header(h, "Content-Type")
	if t != openapi.JSONType && (!strings.Contains(t, "json") || t == openapi.ProblemType) {
		return
	}
	w.log.AppendPart(w.answer, b)
}

func (w *recordingWriter) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// Unwrap is for http.ResponseController.
func (w *recordingWriter) Unwrap() http.ResponseWriter { return unwrapped(w.ResponseWriter) }

// controlOf returns the controller of the connection of a response. Gin's own Flush loses the error.
func controlOf(w http.ResponseWriter) *http.ResponseController {
	return http.NewResponseController(unwrapped(w))
}

// unwrapped returns the writer that Gin wraps.
func unwrapped(w http.ResponseWriter) http.ResponseWriter {
	if u, ok := w.(interface{ Unwrap() http.ResponseWriter }); ok {
		return u.Unwrap()
	}
	return w
}
