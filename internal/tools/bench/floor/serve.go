//go:build linux

package main

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
)

// An answer is the answer to a GET.
type answer struct {
	tag  string
	body []byte
}

// handler serves the answers in dir and writes to d. The credentials are
// PICKUP_USER and PICKUP_PASSWORD, as for pickup.
func handler(accessLog bool, dir string, d *disk) (http.Handler, error) {
	answers, err := read(dir)
	if err != nil {
		return nil, err
	}
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.Use(requestID)
	if accessLog {
		r.Use(logAccess())
	}
	r.Use(gin.CustomRecoveryWithWriter(os.Stderr, nil), authenticate)
	var f feed
	r.NoRoute(func(c *gin.Context) {
		switch {
		case c.Request.Method != http.MethodGet:
			write(c, d, &f)
			return
		case wantsStream(c):
			f.stream(c)
			return
		case c.Request.URL.Path == "/_/changes":
			f.changes(c)
			return
		}
		a, ok := answers[c.Request.URL.RequestURI()]
		if !ok {
			c.Status(http.StatusNotFound)
			return
		}
		h := c.Writer.Header()
		h.Set("Cache-Control", "private, no-cache")
		h.Set("ETag", a.tag)
		if c.GetHeader("If-None-Match") == a.tag {
			c.Status(http.StatusNotModified)
			return
		}
		send(c, http.StatusOK, a.body)
	})
	return r, nil
}

// read reads answers.json, which maps request targets to files in dir.
func read(dir string) (map[string]*answer, error) {
	answers := make(map[string]*answer)
	if dir == "" {
		return answers, nil
	}
	list, err := os.ReadFile(filepath.Join(dir, "answers.json"))
	if err != nil {
		return nil, err
	}
	var files map[string]string
	if err := json.Unmarshal(list, &files); err != nil {
		return nil, err
	}
	for target, name := range files {
		body, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		answers[target] = &answer{fmt.Sprintf(`"%x"`, sha256.Sum256(body))[:22] + `"`, body}
	}
	return answers, nil
}

func send(c *gin.Context, status int, body []byte) {
	h := c.Writer.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.Status(status)
	_, _ = c.Writer.Write(body) // the client may have gone
}

var created atomic.Int64

// write makes a change and answers when it is durable: a POST with the record
// that it has appended, every other write with its body. A DELETE removes the last
// record, whatever its id, so that the file has the right length.
func write(c *gin.Context, d *disk, f *feed) {
	body, err := io.ReadAll(c.Request.Body)
	if err != nil || len(body) == 0 && c.Request.Method != http.MethodDelete {
		c.Status(http.StatusBadRequest)
		return
	}
	status := http.StatusOK
	var record []byte
	if c.Request.Method == http.MethodPost {
		status = http.StatusCreated
		id := strconv.FormatInt(1_000_000_000+created.Add(1), 10)
		record = append([]byte(`{"id":"`+id+`",`), body[1:]...)
		body = record
		c.Header("Location", "/schedules/"+id)
	}
	if err := d.commit(record, c.Request.Method == http.MethodDelete); err != nil {
		c.String(http.StatusInternalServerError, "%v", err)
		return
	}
	f.publish(time.Now(), body)
	send(c, status, body)
}

func requestID(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("X-Request-Id", rand.Text())
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Vary", "Authorization, Origin, Accept")
}

var (
	wantUser     = sha256.Sum256([]byte(os.Getenv("PICKUP_USER")))
	wantPassword = sha256.Sum256([]byte(os.Getenv("PICKUP_PASSWORD")))
)

func authenticate(c *gin.Context) {
	user, password, _ := c.Request.BasicAuth()
	u, p := sha256.Sum256([]byte(user)), sha256.Sum256([]byte(password))
	if subtle.ConstantTimeCompare(u[:], wantUser[:])&subtle.ConstantTimeCompare(p[:], wantPassword[:]) != 1 {
		c.AbortWithStatus(http.StatusUnauthorized)
	}
}

// logAccess logs each request with the attributes of pickup's access log.
func logAccess() gin.HandlerFunc {
	out := &buffered{w: bufio.NewWriterSize(os.Stderr, 64<<10)}
	log := slog.New(slog.NewJSONHandler(out, nil))
	return func(c *gin.Context) {
		start := time.Now()
		c.Next()
		log.LogAttrs(c.Request.Context(), slog.LevelInfo, "request",
			slog.String("id", c.Writer.Header().Get("X-Request-Id")),
			slog.String("client", c.RemoteIP()),
			slog.String("method", c.Request.Method),
			slog.String("path", c.Request.URL.EscapedPath()),
			slog.Int("status", c.Writer.Status()),
			slog.Int("bytes", max(c.Writer.Size(), 0)),
			slog.Float64("ms", float64(time.Since(start).Microseconds())/1000))
	}
}

type buffered struct {
	mu sync.Mutex
	w  *bufio.Writer // guarded by mu
}

func (b *buffered) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.w.Write(p)
}
