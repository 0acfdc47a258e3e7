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

// Parse parses a JSON Patch document. Parse ignores unknown fields, as RFC 6902
// section 4 requires. The error is an *Error.
func Parse(patch jsontext.Value) ([]Operation, error) {
	if patch.Kind() != '[' {
		const detail = `a JSON Patch is an array of operations, as in [{"op":"replace","path":"/title","value":"Vet"}]`
		return nil, malformed("", detail)
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
		return nil, malformed(at+"/"+name,
			fmt.Sprintf("a JSON Pointer begins with a slash: %q", rawjson.Shorten("/"+s)))
	}
	withoutEscapes := strings.NewReplacer("~0", "", "~1", "").Replace(s)
	if strings.Contains(withoutEscapes, "~") {
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

// A Touch is a value that an operation changes.
type Touch struct {
	Operation int      // the index of the operation
	Path      []string // as in Operation
	HasValue  bool     // the operation has the value
}

// Apply returns a compact value after the operations, and the values that the operations change, in
// the order of the operations. The error is an *Error.
func Apply(doc jsontext.Value, ops []Operation) (jsontext.Value, []Touch, error) {
	p := &patcher{root: &node{text: doc}}
	for i := range ops {
		p.at = i
		if err := p.do(&ops[i]); err != nil {
			err.Pointer = fmt.Sprintf("/%d%s", i, err.Pointer)
			return nil, nil, err
		}
	}
	return p.root.value(), p.touched, nil
}

// A patcher applies operations to a document.
type patcher struct {
	root    *node
	at      int // index of the operation
	touched []Touch
	copied  int // bytes
}

// do applies one operation. The pointer of the error leads into the operation.
func (p *patcher) do(op *Operation) *Error {
	switch op.Op {
	case "test":
		n := p.find(op.Path)
		if n == nil {
			return nothingAt("/path", op.Path)
		}
		if !rawjson.Equal(n.value(), op.Value) {
			return failed("/value", "the test failed: %s is %s", joinedOrRoot(op.Path), rawjson.Show(n.value()))
		}
		return nil
	case "remove":
		if len(op.Path) == 0 {
			return failed("/path", "the root cannot be removed")
		}
		p.note(op, op.Path)
		if p.take(op.Path) == nil {
			return nothingAt("/path", op.Path)
		}
		return nil
	case "replace":
		n := p.find(op.Path)
		if n == nil {
			return nothingAt("/path", op.Path)
		}
		*n = node{text: op.Value}
		p.note(op, op.Path)
		return nil
	case "add":
		return p.add(op, &node{text: op.Value})
	}
	source := p.find(op.From)
	if source == nil {
		return nothingAt("/from", op.From)
	}
	if op.Op == "copy" {
		v := source.value()
		p.copied += len(v)
		if p.copied > maxCopied {
			return failed("", "a patch copies at most %d MiB", maxCopied>>20)
		}
		return p.add(op, &node{text: v})
	}
	if slices.Equal(op.From, op.Path) {
		return nil
	}
	p.note(op, op.From)
	p.take(op.From)
	return p.add(op, source)
}

func (p *patcher) note(op *Operation, path []string) {
	p.touched = append(p.touched, Touch{p.at, path, op.Op == "add" || op.Op == "replace"})
}

// find returns the node at path, or nil.
func (p *patcher) find(path []string) *node {
	n := p.root
	for _, token := range path {
		if !n.open() {
			return nil
		}
		i := n.find(token)
		if i < 0 {
			return nil
		}
		n = n.kids[i]
	}
	return n
}

// take removes and returns the node at path, or returns nil.
func (p *patcher) take(path []string) *node {
	last := len(path) - 1
	if parent := p.find(path[:last]); parent != nil && parent.open() {
		if i := parent.find(path[last]); i >= 0 {
			return parent.take(i)
		}
	}
	return nil
}

// add inserts a node at the path of the operation.
func (p *patcher) add(op *Operation, n *node) *Error {
	if len(op.Path) == 0 {
		p.root = n
		p.note(op, op.Path)
		return nil
	}
	last := len(op.Path) - 1
	parent := p.find(op.Path[:last])
	switch {
	case parent == nil:
		return nothingAt("/path", op.Path[:last])
	case !parent.open():
		return failed("/path", "%s is %s and has no fields", joinedOrRoot(op.Path[:last]),
			rawjson.KindName(parent.text))
	case !parent.insert(op.Path[last], n):
		return failed("/path", "%q is not an index of an array of %d elements, nor - for its end",
			rawjson.Shorten(op.Path[last]), len(parent.kids))
	}
	path := op.Path
	if path[last] == "-" && parent.kind == '[' {
		path = append(slices.Clone(path[:last]), fmt.Sprint(len(parent.kids)-1))
	}
	p.note(op, path)
	return nil
}

func nothingAt(member string, path []string) *Error {
	return failed(member, "there is nothing at %s", joinedOrRoot(path))
}

// failed returns the error of an operation that cannot be applied.
func failed(pointer, format string, args ...any) *Error {
	return &Error{Pointer: pointer, Detail: fmt.Sprintf(format, args...)}
}

func joinedOrRoot(path []string) string {
	if len(path) == 0 {
		return "the root"
	}
	return rawjson.Shorten(rawjson.Pointer(path...))
}
