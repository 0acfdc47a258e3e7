package jsonpatch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// Limits of a JSON Patch. Each operation may move all elements of an array, and
// copies of copies grow without bound.
const (
	maxOperations = 10_000
	maxCopied     = 16 << 20 // bytes that copy operations add
	maxToken      = 1 << 10  // bytes of a name in a pointer, as in a body
)

// An Operation is one step of a JSON Patch (RFC 6902).
type Operation struct {
	Op         string
	Path, From []string // the tokens of the pointers (RFC 6901)
	Value      jsontext.Value
}

// Parse parses a JSON Patch document. It ignores unknown fields, as RFC 6902
// section 4 requires. The error is an *Error.
func Parse(patch jsontext.Value) ([]Operation, error) {
	if patch.Kind() != '[' {
		return nil, malformed("", `a JSON Patch is an array of operations, as in [{"op":"replace","path":"/title","value":"Vet"}]`)
	}
	var ops []Operation
	for v := range rawjson.Elements(patch) {
		if len(ops) == maxOperations {
			return nil, malformed("", fmt.Sprintf("a JSON Patch has at most %d operations", maxOperations))
		}
		op, err := parseOperation(fmt.Sprintf("/%d", len(ops)), v)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	return ops, nil
}

func parseOperation(at string, v jsontext.Value) (op Operation, err error) {
	if v.Kind() != '{' {
		return op, malformed(at, "an operation is an object, not "+rawjson.KindName(v))
	}
	name, _ := rawjson.Member(v, "op")
	if name.Kind() == '"' {
		op.Op = rawjson.Unquote(name)
	}
	switch op.Op {
	case "add", "remove", "replace", "move", "copy", "test":
	default:
		return op, malformed(at+"/op", "an operation has an op: add, remove, replace, move, copy or test")
	}
	if op.Path, err = pointerMember(at, v, "path"); err != nil {
		return op, err
	}
	switch op.Op {
	case "move", "copy":
		if op.From, err = pointerMember(at, v, "from"); err != nil {
			return op, err
		}
		if op.Op == "move" && len(op.From) < len(op.Path) && slices.Equal(op.From, op.Path[:len(op.From)]) {
			return op, malformed(at+"/from", "a value cannot be moved into itself")
		}
	case "add", "replace", "test":
		value, ok := rawjson.Member(v, "value")
		if !ok {
			return op, malformed(at+"/value", "the operation "+op.Op+" has a value")
		}
		op.Value = rawjson.Unescaped(value)
	}
	return op, nil
}

// pointerMember returns the tokens of a field that is a JSON Pointer.
func pointerMember(at string, v jsontext.Value, name string) ([]string, error) {
	p, ok := rawjson.Member(v, name)
	if !ok || p.Kind() != '"' {
		return nil, malformed(at+"/"+name, "a "+name+" is a JSON Pointer, such as \"/title\"")
	}
	s := rawjson.Unquote(p)
	if s != "" && s[0] != '/' {
		return nil, malformed(at+"/"+name, fmt.Sprintf("a JSON Pointer begins with a slash: %q", rawjson.Shorten("/"+s)))
	}
	if unescaped := strings.NewReplacer("~0", "", "~1", "").Replace(s); strings.Contains(unescaped, "~") {
		return nil, malformed(at+"/"+name, "~ in a JSON Pointer must be followed by 0 or 1")
	}
	path := rawjson.SplitPointer(s)
	if slices.ContainsFunc(path, func(token string) bool { return len(token) > maxToken }) {
		return nil, malformed(at+"/"+name, fmt.Sprintf("the name of a field has at most %d bytes", maxToken))
	}
	return path, nil
}

// An Error is a fault of a patch.
type Error struct {
	Pointer   string // RFC 6901, into the patch
	Detail    string // what is wrong and what would be right, one sentence
	Malformed bool   // the text is not a JSON Patch; otherwise an operation cannot be applied
}

func (e *Error) Error() string { return e.Pointer + ": " + e.Detail }

func malformed(at, detail string) error {
	return &Error{Pointer: at, Detail: detail, Malformed: true}
}

// A Patcher applies operations to a document in order. If one fails the document
// is partly changed, and the caller must discard it.
type Patcher struct {
	Root   *Node
	copied int // bytes

	// Note, if not nil, is called with each path that the operation with the
	// index i changes.
	Note func(i int, op *Operation, path []string)
}

// Apply applies the operations. The error is an *Error.
func (p *Patcher) Apply(ops []Operation) error {
	for i := range ops {
		if f := p.do(i, &ops[i]); f != nil {
			f.Pointer = fmt.Sprintf("/%d%s", i, f.Pointer)
			return f
		}
	}
	return nil
}

// do applies one operation. The pointer of the error leads into the operation.
func (p *Patcher) do(i int, op *Operation) *Error {
	switch op.Op {
	case "test":
		n := p.At(op.Path)
		switch {
		case n == nil:
			return nothingAt("/path", op.Path)
		case !rawjson.Equal(n.Value(), op.Value):
			return &Error{Pointer: "/value", Detail: fmt.Sprintf("the test failed: %s is %s", joinedOrRoot(op.Path), rawjson.Show(n.Value()))}
		}
		return nil
	case "remove":
		if len(op.Path) == 0 {
			return &Error{Pointer: "/path", Detail: "the root cannot be removed"}
		}
		p.note(i, op, op.Path)
		if p.take(op.Path) == nil {
			return nothingAt("/path", op.Path)
		}
		return nil
	case "replace":
		n := p.At(op.Path)
		if n == nil {
			return nothingAt("/path", op.Path)
		}
		*n = Node{Text: op.Value, Origin: n.Origin}
		p.note(i, op, op.Path)
		return nil
	case "add":
		return p.add(i, op, &Node{Text: op.Value})
	}
	source := p.At(op.From)
	if source == nil {
		return nothingAt("/from", op.From)
	}
	if op.Op == "copy" {
		v := source.Value()
		p.copied += len(v)
		if p.copied > maxCopied {
			return &Error{Detail: fmt.Sprintf("a patch copies at most %d MiB", maxCopied>>20)}
		}
		return p.add(i, op, &Node{Text: v})
	}
	if slices.Equal(op.From, op.Path) {
		return nil
	}
	p.note(i, op, op.From)
	p.take(op.From)
	return p.add(i, op, source)
}

func (p *Patcher) note(i int, op *Operation, path []string) {
	if p.Note != nil {
		p.Note(i, op, path)
	}
}

// At returns the node at path, or nil.
func (p *Patcher) At(path []string) *Node {
	n := p.Root
	for _, token := range path {
		if !n.Open() {
			return nil
		}
		i := n.Find(token)
		if i < 0 {
			return nil
		}
		n = n.Kids[i]
	}
	return n
}

// take removes the node at path and returns it, or nil.
func (p *Patcher) take(path []string) *Node {
	last := len(path) - 1
	if parent := p.At(path[:last]); parent != nil && parent.Open() {
		if i := parent.Find(path[last]); i >= 0 {
			return parent.take(i)
		}
	}
	return nil
}

// add inserts a node at the path of the operation.
func (p *Patcher) add(i int, op *Operation, n *Node) *Error {
	if len(op.Path) == 0 {
		p.Root = n
		p.note(i, op, op.Path)
		return nil
	}
	last := len(op.Path) - 1
	parent := p.At(op.Path[:last])
	switch {
	case parent == nil:
		return nothingAt("/path", op.Path[:last])
	case !parent.Open():
		return &Error{Pointer: "/path", Detail: fmt.Sprintf("%s is %s and has no fields", joinedOrRoot(op.Path[:last]), rawjson.KindName(parent.Text))}
	case !parent.insert(op.Path[last], n):
		return &Error{Pointer: "/path", Detail: fmt.Sprintf("%q is not an index of an array of %d elements, nor - for its end", rawjson.Shorten(op.Path[last]), len(parent.Kids))}
	}
	path := op.Path
	if path[last] == "-" && parent.Kind == '[' {
		path = append(slices.Clone(path[:last]), fmt.Sprint(len(parent.Kids)-1))
	}
	p.note(i, op, path)
	return nil
}

func nothingAt(member string, path []string) *Error {
	return &Error{Pointer: member, Detail: "there is nothing at " + joinedOrRoot(path)}
}

func joinedOrRoot(path []string) string {
	if len(path) == 0 {
		return "the root"
	}
	return rawjson.Shorten(rawjson.Pointer(path...))
}
