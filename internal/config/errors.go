package config

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
)

// Plain rewords the message of an error of the parser.
func Plain(err error) string {
	text := err.Error()
	for _, w := range plainWords {
		text = regexp.MustCompile(w[0]).ReplaceAllString(text, w[1])
	}
	return text
}

// plainWords lists expressions for messages of the parser, with replacements.
var plainWords = [][2]string{
	{`^expected "(<.*>)"`, `missing $1`},
	{`: expected \S+ value but got .*`, ` needs a value`},
	{`expected a valid \d+ bit int but got (".*")`, `$1 is not a whole number`},
	{`expected a valid \d+ bit uint but got (".*")`, `$1 is not 0 or a positive whole number`},
	{`expected duration but got (".*?").*`, `$1 is not a time such as 30s or 5m`},
	{`^unexpected argument \S+\.json$`, `$0: there can be only one file; to serve several as one database, put them into a folder`},
	{`^(unknown flag -\w), did you mean .*`, `$1`}, // any letter is as near as another
	{`^(unknown flag \S+), did you mean `, `$1; did you mean `},
	{`"(--[\w-]+)"`, `$1`},
	{`","`, `", "`},
}

// A UsageError is about the flags, the variables or the files in them.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// Usagef formats a UsageError.
func Usagef(format string, args ...any) error {
	return UsageError{fmt.Errorf(format, args...)}
}

// fileError returns an error about the file of a flag.
func fileError(flag string, err error) error {
	var failed *fs.PathError
	if !errors.As(err, &failed) {
		return Usagef("%s: %w", flag, err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Usagef("%s: %s does not exist", flag, failed.Path)
	}
	return Usagef("%s: cannot read %s: %w", flag, failed.Path, failed.Err)
}
