//go:build linux

// Floor is what pickup is measured against: programs that have its duties and
// do nothing else, so that what is left is what the work itself costs here.
//
// As a server it answers each GET with bytes that it holds in memory, behind
// the same Basic check, request id and headers, and each write with the same
// file protocol in groups, without knowing what the bytes mean:
//
//	floor -p PORT [-access-log] [-answers DIR] [-file FILE]
//
// As a client of the disk alone it writes a file so for some time and prints
// how many changes a second that were:
//
//	floor -file FILE -writers 64 -duration 1s
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"
)

func main() {
	port := flag.Int("p", 0, "the port; 0: write -file from -writers and print the changes a second")
	accessLog := flag.Bool("access-log", false, "log one line a request to standard error, buffered")
	answers := flag.String("answers", "", "a folder with answers.json, which names the files of the GETs")
	file := flag.String("file", "", "the file that writes rewrite")
	writers := flag.Int("writers", 1, "how many write at once")
	duration := flag.Duration("duration", time.Second, "for how long")
	flag.Parse()
	if err := run(*port, *accessLog, *answers, *file, *writers, *duration); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func run(port int, accessLog bool, answers, file string, writers int, duration time.Duration) error {
	var d *disk
	if file != "" {
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
	// The timeouts of pickup, which cost a timer each.
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
