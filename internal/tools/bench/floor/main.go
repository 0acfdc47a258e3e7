//go:build linux

// Floor does pickup's work without knowing what it means. Its speed is what the
// machine allows.
//
// As a server it has the same authentication, request ids and headers. It answers
// a GET with bytes from memory, replaces the file for a group of writes in the same
// steps, and streams an event for each write:
//
//	floor -p PORT [-access-log] [-answers DIR] [-file FILE]
//
// FILE may be the URL of an etcd cluster. A group of writes is then one transaction
// with the operations that pickup's would have.
//
// Without a port it writes a file for a while and prints the changes per second:
//
//	floor -file FILE -writers 64 -duration 1s
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	port := flag.Int("p", 0, "port; 0 writes -file and prints the changes per second")
	accessLog := flag.Bool("access-log", false, "log each request to standard error, buffered")
	answers := flag.String("answers", "", "directory with answers.json, which maps GETs to files")
	file := flag.String("file", "", "file to write")
	writers := flag.Int("writers", 1, "number of concurrent writers")
	duration := flag.Duration("duration", time.Second, "how long to write")
	flag.Parse()
	if err := run(*port, *accessLog, *answers, *file, *writers, *duration); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func run(port int, accessLog bool, answers, file string, writers int, duration time.Duration) error {
	var d *disk
	switch {
	case strings.HasPrefix(file, "etcd://"):
		c, err := connect(file)
		if err != nil {
			return err
		}
		d = &disk{cluster: c}
	case file != "":
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		d = &disk{path: file, text: text}
	}
	if port == 0 {
		return d.measure(writers, duration)
	}
	h, err := handler(accessLog, answers, d)
	if err != nil {
		return err
	}
	// The timeouts of pickup: each needs a timer.
	s := &http.Server{
		Addr:              fmt.Sprintf("127.0.0.1:%d", port),
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       120 * time.Second,
	}
	return s.ListenAndServe()
}
