package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"pickup/filestore"
	"pickup/internal/database"
	"pickup/internal/schema"
)

// A keeper keeps the rules of a database what their file says while it is
// served. A schema that does not compile changes nothing: the last good rules
// stay, and the log says where it is wrong.
type keeper struct {
	path  string // of the database
	db    *database.DB
	log   *slog.Logger
	file  string    // the schema's, as it was last read; "" where there was none
	text  []byte    // what it held
	gone  time.Time // since when it is missing; zero where it is not
	mu    sync.Mutex
	fault *finding // guarded by mu; what is wrong with the file, nil where nothing is
}

// goneAfter is how long a schema has to be missing before its rules are
// dropped: an editor that saves it takes it away for a moment.
const goneAfter = 2 * time.Second

// run looks at the schema whenever its file, or the name that the database
// gives it, may have changed, until ctx ends.
func (k *keeper) run(ctx context.Context) {
	for range filestore.PollFiles(ctx, func() []string { return []string{k.where()} }) {
		k.look(ctx, k.where())
	}
}

// where returns the schema's file, "" where what the database names is none.
func (k *keeper) where() string {
	file, _, _ := schemaPath(k.path, namedIn(k.db.Snapshot()))
	return file
}

// look takes over what the file says now.
func (k *keeper) look(ctx context.Context, file string) {
	named := namedIn(k.db.Snapshot()) != ""
	var text []byte
	err := error(fs.ErrNotExist)
	if file != "" {
		text, err = os.ReadFile(file)
	}
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case !missing:
		k.gone = time.Time{}
	case k.file == "":
		return // there was none, and there is none
	case k.gone.IsZero():
		k.gone = time.Now()
		return
	case time.Since(k.gone) < goneAfter:
		return
	case !named:
		k.file, k.text = "", nil
		k.put(ctx, nil, "there is no schema any more: every write is taken as it is")
		return
	}
	if err != nil {
		k.text = nil // so that it counts again when it is back
		k.refuse(k.unread(file, err))
		return
	}
	if file == k.file && k.text != nil && bytes.Equal(text, k.text) {
		return
	}
	if len(bytes.TrimSpace(text)) == 0 && time.Since(changed(file)) < goneAfter {
		return // a save that first cuts the file off
	}
	k.file, k.text = file, text
	schema, err := schema.Compile(file, text)
	if f, ok := broken(err); ok {
		k.refuse(f)
		return
	}
	if err != nil {
		k.refuse(finding{file, 1, 1, err.Error()})
		return
	}
	k.put(ctx, schema, "the rules have changed: writes are checked against "+file)
}

// unread returns the finding about a schema that cannot be read.
func (k *keeper) unread(file string, err error) finding {
	if _, note, ok := schemaPath(k.path, namedIn(k.db.Snapshot())); !ok {
		text, _ := os.ReadFile(k.path) // unreadable, it has no line 1 either
		return at(k.path, text, nil, "/$schema", note)
	}
	var in *fs.PathError
	if errors.As(err, &in) {
		err = in.Err // the path is nothing for a client
	}
	return finding{file, 1, 1, fmt.Sprintf("the schema cannot be read: %v", err)}
}

// changed returns when the file was last written, the zero time where it cannot
// be told.
func changed(file string) time.Time {
	info, err := os.Stat(file)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// put makes other rules those of the database.
func (k *keeper) put(ctx context.Context, schema *schema.Schema, message string) {
	if err := k.db.SetSchema(ctx, schema); err != nil {
		k.file, k.text = "\x00", nil // so that the next look tries again
		k.log.Warn("the new rules cannot be used yet", "error", err)
		return
	}
	k.tell(nil)
	k.log.Info(message)
}

// refuse says, once, what is wrong with the file, of which nothing is taken
// over.
func (k *keeper) refuse(f finding) {
	if last := k.told(); last != nil && *last == f {
		return
	}
	k.tell(&f)
	k.log.Warn(f.String() + ": " + k.kept())
}

// kept says which rules are in force while the file cannot be used.
func (k *keeper) kept() string {
	if k.db.Schema() == nil {
		return "there are no rules, every write is taken as it is"
	}
	return "the last good rules stay in force"
}

func (k *keeper) tell(f *finding) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fault = f
}

// told returns what is wrong with the file at present, nil where nothing is.
func (k *keeper) told() *finding {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fault
}
