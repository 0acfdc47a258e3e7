package source

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A Part is a JSON Patch of a database that fits one request.
type Part struct {
	Items []*Item // of the operations

	operations, made []byte // made makes the collections of earlier parts
	before           int    // operations in made
}

// Patch returns the patch. As a trial it does to the database without the earlier parts
// what it does after them.
func (p *Part) Patch(trial bool) []byte {
	patch := []byte{'['}
	if trial {
		patch = append(patch, p.made...)
	}
	return append(append(rawjson.AppendComma(patch), p.operations...), ']')
}

// Find returns the item that a pointer into the patch leads to, and the pointer into it.
func (p *Part) Find(trial bool, pointer string) (*Item, string) {
	tokens := rawjson.SplitPointer(pointer + "//") // operation, "value", and so on
	n, _ := strconv.Atoi(tokens[0])
	if trial {
		n -= p.before
	}
	return p.Items[max(0, min(n, len(p.Items)-1))], rawjson.Pointer(tokens[2:max(2, len(tokens)-2)]...)
}

// add adds operations for an item.
func (p *Part) add(i *Item, ops ...string) {
	for _, op := range ops {
		p.operations, p.Items = append(rawjson.AppendComma(p.operations), op...), append(p.Items, i)
	}
}

func operation(op string, value []byte, path ...string) string {
	return fmt.Sprintf(`{"op":%q,"path":%s,"value":%s}`, op, rawjson.AppendQuote(nil, rawjson.Pointer(path...)), value)
}

// Plan divides items into parts with patches of at most most bytes, and sets their
// outcomes. wrong is called for items that cannot be imported.
func Plan(s *database.Snapshot, items []*Item, replace bool, most int64, wrong func(i *Item, detail string)) (parts []*Part) {
	type record struct{ field, id string }
	places := make(map[record]int) // of records; -1: of an item
	listed := make(map[string]bool)
	made := new(Part) // all collections that are made
	for _, i := range items {
		name, path, ops := i.Field, []string{i.Field}, []string(nil)
		kind, exists := s.Kind(name)
		old, _ := s.Value(name)
		if exists && (kind == storage.Array) != i.isList() {
			wrong(i, fmt.Sprintf("%s is a list of records %s", name, map[bool]string{true: "here, and not in the database", false: "in the database, and not here"}[i.isList()]))
			continue
		}
		if i.isList() && !listed[name] {
			listed[name] = true
			n := 0
			for r := range s.All(name) {
				places[record{name, r.ID}] = n
				n++
			}
			if n == 0 && !i.Whole { // records keep their ids in a collection that the patch makes
				ops = append(ops, operation("add", []byte("[]"), name))
			}
		}
		member := s.IDMember(name)
		if id, ok := storage.ID(i.Value, member); ok && !i.Whole {
			at, there := places[record{name, id}]
			if places[record{name, id}] = -1; there && at < 0 {
				wrong(i, fmt.Sprintf("another record has the %s %s, too", member, rawjson.Shorten(id)))
				continue
			}
			if r, err := s.Get(name, id); err == nil {
				stored, _ := rawjson.Member(r.Value, member)
				old, path = r.Value, []string{name, strconv.Itoa(at)}
				ops = append(ops, operation("test", stored, name, path[1], member))
			}
		}
		switch {
		case i.Whole && i.isList() && exists, old != nil && rawjson.Equal(old, i.Value):
			i.Outcome = "equal"
			continue
		case old != nil && !replace:
			i.Outcome = "kept as before (see --replace)"
			continue
		case old != nil:
			i.Outcome = "replaced"
			ops = append(ops, operation("replace", i.Value, path...))
		default:
			if i.Outcome = "added"; !i.Whole {
				path = append(path, "-")
			}
			ops = append(ops, operation("add", i.Value, path...))
		}
		if n := len(parts) - 1; n < 0 || !parts[n].holds(most, ops) {
			parts = append(parts, &Part{made: slices.Clone(made.operations), before: len(made.Items)})
		}
		parts[len(parts)-1].add(i, ops...)
		if old == nil {
			made.add(i, ops[:len(ops)-1]...)
		}
	}
	return parts
}

// holds reports whether there is room for operations in a patch of at most most bytes.
func (p *Part) holds(most int64, ops []string) bool {
	const mostOperations = 10_000
	return int64(len(p.made)+len(p.operations)+len(strings.Join(ops, ","))+4) <= most && p.before+len(p.Items)+len(ops) <= mostOperations
}
