package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/etcdstore"
	"pickup/filestore"
	"pickup/filestore/document"
	"pickup/internal/config"
	"pickup/internal/database"
	"pickup/internal/har"
	"pickup/internal/lint"
	"pickup/internal/openfile"
	"pickup/internal/rawjson"
	"pickup/internal/source"
	"pickup/internal/spell"
)

// An importCommand imports CSV, JSON or a HAR file into a database, or copies a file and the
// schema into a cluster.
type importCommand struct {
	Source  string   `arg:"" help:"The file to import: CSV, JSON, or a HAR file of a browser. For a database in etcd, a file to copy."`
	Target  string   `arg:"" optional:"" help:"The JSON file to import into ($PICKUP_DB; db.json), or where to put a database in etcd, as in etcd://10.0.0.1:2379,10.0.0.2:2379/family."`
	Replace bool     `help:"Replace records that are there with the same id. In etcd: make an existing database equal to the file, in one step."`
	Only    []string `placeholder:"NAMES" help:"Import these collections and objects only, as in posts,comments."`
	Base    string   `placeholder:"URL" help:"Of a HAR file, import the responses of this API, as in https://api.example.com/v1 (the one with most responses)."`
	DryRun  bool     `help:"Say what would be imported, and import nothing."`
	config.Answers
	config.ClusterAccess
	config.IDConvention
}

func (c *importCommand) run(ctx context.Context, e *environment) error {
	if !etcdstore.IsURL(c.Target) {
		return c.importData(ctx, e)
	}
	if c.DryRun || c.Only != nil {
		return config.Usagef("--only and --dry-run are for files, not for a database in etcd")
	}
	return c.copyToCluster(ctx, e)
}

// A dataImport imports a source into a file, or sends the source to the server of the file.
type dataImport struct {
	*importCommand
	path      string // of the database
	text      []byte // of the source
	items     []*source.Item
	faults    []string
	revisions []string       // revisions that the server has stored, as text
	changes   bool           // whether some plan had parts
	recording *har.Recording // nil unless the source is a HAR file
}

// importData imports the source into a file.
func (c *importCommand) importData(ctx context.Context, e *environment) error {
	text, err := os.ReadFile(c.Source)
	if errors.Is(err, fs.ErrNotExist) {
		return config.Usagef("%s does not exist", c.Source)
	}
	if err != nil {
		return config.UsageError{Err: err}
	}
	m := &dataImport{importCommand: c, path: e.Path(c.Target), text: text}
	if err := checkSource(m.path); err != nil {
		return err
	}
	if openfile.Real(c.Source) == openfile.Real(m.path) {
		return config.Usagef("%s is also the file to import into; a database in etcd has a URL, "+
			"as in etcd://10.0.0.1:2379/family", c.Source)
	}
	if strings.EqualFold(filepath.Ext(c.Source), ".har") {
		if err := m.readRecording(e); err != nil {
			return err
		}
	}
	if isNew(m.path) && (c.Target == "" || strings.HasPrefix(filepath.Ext(c.Target), ".json")) {
		return m.create(ctx, e)
	}
	store, server, err := openOrAsk(ctx, e, m.path)
	if err != nil {
		return err
	}
	if server != nil {
		err = m.send(ctx, server)
	} else {
		err = errors.Join(m.write(ctx, store, m.DryRun), store.Close())
	}
	if err != nil {
		return err
	}
	return m.finish(e)
}

// readRecording reads a HAR file.
func (m *dataImport) readRecording(e *environment) (err error) {
	o := har.Options{Base: m.Base, IDMember: m.IDField, List: m.List, Record: m.Record}
	if isNew(m.path) && e.File.Name == "" && m.IDField == "id" {
		o.IDMember = "" // configure writes the field that har.Read finds
	}
	if filestore.IsFolder(m.path) {
		o.Refuses = func(name string) bool { return filestore.MemberOf(name+".json") == "" }
	}
	m.recording, err = har.Read(m.text, o)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Source, err)
	}
	m.IDField = m.recording.IDMember
	return nil
}

// create imports into a new file. create tries the import in memory first, and leaves no file
// if the import fails.
func (m *dataImport) create(ctx context.Context, e *environment) error {
	if isFolderName(m.path) {
		return missingFolder(m.path)
	}
	o := filestore.Options{Initial: initial(m.path), Ephemeral: true}
	trial, err := openFile(ctx, e, m.path, o)
	if err != nil {
		return err
	}
	err = errors.Join(m.write(ctx, trial, true), trial.Close())
	if err != nil {
		return err
	}
	if m.faults != nil || m.DryRun {
		return m.finish(e)
	}
	o.Ephemeral = false
	_, missing := os.Stat(m.path) // only now: a file may appear during the trial
	store, err := openFile(ctx, e, m.path, o)
	if err != nil {
		return err
	}
	left := o.Initial
	err = errors.Join(m.write(ctx, store, false), store.Close())
	if err == nil {
		left, err = os.ReadFile(m.path)
	}
	if err == nil {
		err = m.finish(e)
	}
	if err == nil || missing == nil {
		return err
	}
	if text, failed := os.ReadFile(m.path); failed == nil && bytes.Equal(text, left) {
		return errors.Join(err, os.Remove(openfile.Real(m.path))) // a link to the file stays
	}
	return err
}

// finish reports the imported items or the faults, and writes the settings of a recording.
func (m *dataImport) finish(e *environment) error {
	for _, f := range m.faults {
		e.printf("%s\n", f)
	}
	if len(m.faults) > 0 {
		err := fmt.Errorf("%s in %s", spell.Count(len(m.faults), "error"), m.Source)
		if m.revisions != nil {
			return m.incomplete(err)
		}
		return fmt.Errorf("nothing was imported: %w", err)
	}
	m.report(e.stdout)
	if m.recording == nil {
		return nil
	}
	return m.configure(e)
}

// configure writes the settings for a recording or, if there is a configuration file, prints
// the settings.
func (m *dataImport) configure(e *environment) error {
	routes := []byte{'{'}
	for _, r := range m.recording.Routes {
		routes = rawjson.AppendText(routes, r.From, r.To)
	}
	settings := struct {
		IDField  string         `json:"id-field,omitempty"`
		Prefix   string         `json:"prefix"`
		Routes   jsontext.Value `json:"routes"`
		Simulate []har.Answer   `json:"simulate"`
	}{Prefix: m.recording.Prefix, Routes: append(routes, '}'), Simulate: m.recording.Fixed}
	if m.IDField != "id" {
		settings.IDField = m.IDField
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "\t")
	if err := encoder.Encode(settings); err != nil {
		return err
	}

	const name = "pickup.json"
	if m.DryRun || e.File.Name != "" {
		_, err := fmt.Fprintf(e.stdout, "settings for %s, as JSON:\n%s", cmp.Or(e.File.Name, name), text.Bytes())
		return err
	}
	if err := filestore.WriteFile(name, text.Bytes(), false); err != nil {
		return err
	}
	answers := spell.Count(len(m.recording.Fixed), "fixed response")
	_, err := fmt.Fprintf(e.stdout, "%s: written, with %s and %s\n"+
		"Look at both files before you share them: names and addresses are as they were recorded.\n",
		name, answers, spell.Count(len(m.recording.Routes), "route"))
	return err
}

// write imports into the file as one change, or tries the import.
func (m *dataImport) write(ctx context.Context, store *filestore.Store, trial bool) error {
	db, err := openRuled(ctx, m.path, store, m.IDConvention)
	if err != nil {
		return err
	}
	parts, err := m.plan(db.Snapshot(), math.MaxInt64, math.MaxInt)
	if err != nil || len(parts) == 0 {
		return err
	}
	change := db.Update
	if trial {
		change = db.Preview
	}
	_, err = change(ctx, func(tx *database.Tx) error {
		_, err := tx.Do(parts[0].Transaction(false), database.Create)
		return err
	})
	refused, ok := errors.AsType[*database.FaultError](err)
	if !ok {
		return err
	}
	for _, f := range refused.Faults {
		i, inside := parts[0].Find(false, f.Pointer)
		m.wrong(i, inside, f.Detail)
	}
	return nil
}

// mostOperations is how many operations a server takes at once.
const mostOperations = 10_000

// mostReads is how often send reads the database after changes of others.
const mostReads = 10

// send sends the import to the server of the file, in as few transactions as the limits of a request
// allow. A part that sets a field has the tag of the last read, so no write of others is lost. After
// a write of others, and before a later part that sets a field, send reads the database and plans
// again. Several parts are tried first, so that a fault is found before the first part is stored.
func (m *dataImport) send(ctx context.Context, server *client) error {
	var before []byte
	tried := false
	for reads := 1; ; reads++ {
		text, header, err := server.send(ctx, http.MethodGet, server.prefix+"/db", nil)
		if err != nil {
			return m.incomplete(err)
		}
		parts, err := m.planFor(server, text)
		if !tried && err == nil && (len(parts) > 1 || m.DryRun) {
			err = m.tryParts(ctx, server, parts)
			tried = err == nil
		}
		if err == nil && !m.DryRun {
			var complete bool
			complete, err = m.sendParts(ctx, server, parts, header.Get("ETag"))
			if err == nil && !complete { // plan the rest
				reads = 0
				continue
			}
		}
		refused, ok := errors.AsType[*refusedError](err)
		if ok && refused.mayPass(!bytes.Equal(text, before)) { // because of a write of others: plan again
			if reads >= mostReads {
				err = fmt.Errorf("others change the database again and again: run the import again (%w)", err)
				return m.incomplete(err)
			}
			before = text
			m.faults = nil
			tried = false
			continue
		}
		if len(m.faults) > 0 && m.revisions == nil {
			return nil // finish reports the faults
		}
		return m.incomplete(err)
	}
}

// mayPass reports whether a refused transaction may pass after another plan. changed means that
// the database has changed since the plan before.
func (e *refusedError) mayPass(changed bool) bool {
	if e.status == http.StatusPreconditionFailed {
		return true
	}
	return changed && (e.status == http.StatusConflict || e.status == http.StatusNotFound)
}

// incomplete returns err. If parts are stored already, the error lists their revisions.
func (m *dataImport) incomplete(err error) error {
	if err == nil || m.revisions == nil {
		return err
	}
	return fmt.Errorf("a part was imported (%s), the rest was not: %w", strings.Join(m.revisions, ", "), err)
}

// planFor plans the import into a database from a server.
func (m *dataImport) planFor(server *client, text []byte) ([]*source.Part, error) {
	d, err := document.Parse(m.path, text, nil)
	if err != nil {
		return nil, err
	}
	rules, err := lint.LoadSchema(m.path, lint.Declared(d))
	if err != nil {
		return nil, err
	}
	o := m.IDConvention.Options(rules)
	snapshot := database.NewSnapshot(d.KeyedBy(database.IDMembers(o)).Contents(), o)
	return m.plan(snapshot, server.maxBody, mostOperations)
}

// tryParts sends parts that the server checks and does not store.
func (m *dataImport) tryParts(ctx context.Context, server *client, parts []*source.Part) error {
	for _, p := range parts {
		_, err := m.post(ctx, server, p, true, "Prefer", "return=minimal, tx=rollback")
		if err != nil {
			return err
		}
	}
	return nil
}

// sendParts sends parts, planned for the state with the tag, and reports whether all are
// stored. A later part that sets a field needs the tag of the state after the earlier ones.
func (m *dataImport) sendParts(
	ctx context.Context, server *client, parts []*source.Part, tag string,
) (complete bool, err error) {
	for n, p := range parts {
		header := []string{"Prefer", "return=minimal"}
		if p.Sets() {
			if n > 0 {
				return false, nil
			}
			header = append(header, "If-Match", tag)
		}
		stored, err := m.post(ctx, server, p, false, header...)
		if err != nil {
			return false, err
		}
		m.revisions = append(m.revisions, "revision "+stored.Get("Pickup-Revision"))
		p.Done()
	}
	return true, nil
}

// post sends a part, and collects faults of items.
func (m *dataImport) post(
	ctx context.Context, server *client, p *source.Part, trial bool, header ...string,
) (http.Header, error) {
	_, response, err := server.send(ctx, http.MethodPost, "/_/transaction", p.Transaction(trial), header...)
	refused, ok := errors.AsType[*refusedError](err)
	if !ok {
		return response, err
	}
	for _, f := range refused.Errors {
		i, inside := p.Find(trial, f.Pointer)
		m.wrong(i, inside, f.Detail)
	}
	return nil, err
}

// wrong adds a fault at a pointer into an item.
func (m *dataImport) wrong(i *source.Item, pointer, detail string) {
	if pointer != "" {
		detail = pointer + ": " + detail
	}
	m.faults = append(m.faults, fmt.Sprintf("%s:%s: %s", m.Source, i.Place(m.text, pointer), detail))
}

// plan plans the import of the items that are not stored yet. If there are faults, parts is empty.
func (m *dataImport) plan(s *database.Snapshot, most int64, operations int) (parts []*source.Part, err error) {
	if m.items == nil {
		err = m.read(s)
	}
	if err == nil && m.faults == nil {
		rest := slices.DeleteFunc(slices.Clone(m.items), func(i *source.Item) bool { return i.Done })
		wrong := func(i *source.Item, detail string) { m.wrong(i, "", detail) }
		parts = source.Plan(s, rest, m.Replace, most, operations, wrong)
	}
	if m.faults != nil { // Plan returns parts even with faults
		parts = nil
	}
	m.changes = m.changes || parts != nil
	return parts, err
}

// kindAt returns the kind of the values at a path of the records of a collection: the kind in
// the rules, or a string if the database has one. Otherwise kindAt returns 0.
func kindAt(s *database.Snapshot, collection string, path []string) jsontext.Kind {
	if kind := s.Schema().Member(collection).Scalar(path); kind != 0 {
		return kind
	}
	for r := range s.All(collection) {
		v := rawjson.At(r.Value, rawjson.Pointer(path...))
		if v.Kind() == '"' {
			return '"'
		}
		if v != nil {
			break
		}
	}
	return 0
}

// read reads the source.
func (m *dataImport) read(s *database.Snapshot) (err error) {
	ext := filepath.Ext(m.Source)
	name := strings.TrimSuffix(filepath.Base(m.Source), ext)
	switch strings.ToLower(ext) {
	case ".csv", ".tsv":
		kindOf := func(path []string) jsontext.Kind { return kindAt(s, name, path) }
		m.items = source.CSV(name, m.text, kindOf, func(line int, detail string) {
			m.faults = append(m.faults, fmt.Sprintf("%s:%d: %s", m.Source, line, detail))
		})
	case ".har":
		m.items = m.recording.Items
	case ".json", ".json5":
		m.items, err = source.JSON(m.Source, name, m.text)
	default:
		return config.Usagef("%s does not end in .csv, .tsv, .json, .json5 or .har", m.Source)
	}
	if err != nil || m.Only == nil {
		return err
	}
	for _, name := range m.Only {
		if !slices.ContainsFunc(m.items, func(i *source.Item) bool { return i.Field == name }) {
			return config.Usagef("--only: %s has no %s", m.Source, name)
		}
	}
	m.items = slices.DeleteFunc(m.items, func(i *source.Item) bool { return !slices.Contains(m.Only, i.Field) })
	return nil
}

// report prints the outcomes of the items.
func (m *dataImport) report(w io.Writer) {
	type line struct{ field, outcome string }
	var lines []line
	counts := make(map[line]int)
	if m.recording != nil {
		fmt.Fprintln(w, strings.Join(m.recording.Report, "\n"))
	}
	for _, i := range m.items {
		l := line{i.Field, i.Outcome}
		if counts[l] == 0 {
			lines = append(lines, l)
		}
		counts[l]++
	}
	for _, l := range lines {
		fmt.Fprintf(w, "%s: %d %s\n", spell.Printable(l.field), counts[l], l.outcome)
	}
	done := "written"
	switch {
	case !m.changes:
		done = "nothing to change"
	case m.DryRun:
		done = "not changed (--dry-run)"
	case len(m.revisions) == 1:
		done = m.revisions[0] + "; POST /_/undo takes it back"
	case m.revisions != nil:
		all := strings.Join(m.revisions, ", ")
		done = fmt.Sprintf("%s; POST /_/undo takes them back in %d steps", all, len(m.revisions))
	}
	fmt.Fprintf(w, "%s: %s\n", m.path, done)
}
