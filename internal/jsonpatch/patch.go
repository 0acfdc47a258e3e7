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

// Parse reads a JSON Patch document. Of members that it does not know it
// takes no notice, as section 4 of RFC 6902 has it. The error is an *Error.
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
		op.Value = rawjson.Compact(value)
	}
	return op, nil
}

// pointerMember reads a member that is a JSON Pointer.
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
		return nil, malformed(at+"/"+name, "behind ~ in a JSON Pointer stands 0 or 1")
	}
	path := rawjson.SplitPointer(s)
	if slices.ContainsFunc(path, func(token string) bool { return len(token) > maxToken }) {
		return nil, malformed(at+"/"+name, fmt.Sprintf("a member's name has at most %d bytes", maxToken))
	}
	return path, nil
}

// An Error says what is wrong with a patch.
type Error struct {
	Pointer   string // RFC 6901, into the patch
	Detail    string // what is wrong and what would be right, one sentence
	Malformed bool   // it is no JSON Patch; else an operation cannot be done
}

func (e *Error) Error() string { return e.Pointer + ": " + e.Detail }

func malformed(at, detail string) error {
	return &Error{Pointer: at, Detail: detail, Malformed: true}
}

// A Patcher applies operations to a document, one after the other. Whoever
// uses it drops the document where one fails.
type Patcher struct {
	Root   *Node
	copied int // bytes

	// Note, if any, is told where an operation changes the document. A parent
	// is nil where that is the root.
	Note func(i int, op *Operation, path []string)
}

// Apply does the operations. The error is an *Error.
func (p *Patcher) Apply(ops []Operation) error {
	for i := range ops {
		if f := p.do(i, &ops[i]); f != nil {
			f.Pointer = fmt.Sprintf("/%d%s", i, f.Pointer)
			return f
		}
	}
	return nil
}

// do does one operation. The pointer of the fault leads into it.
func (p *Patcher) do(i int, op *Operation) *Error {
	switch op.Op {
	case "test":
		n := p.At(op.Path)
		switch {
		case n == nil:
			return nothingAt("/path", op.Path)
		case !n.equal(op.Value):
			return &Error{Pointer: "/value", Detail: fmt.Sprintf("the test fails: %s is %s", joinedOrRoot(op.Path), n.shown())}
		}
		return nil
	case "remove":
		if len(op.Path) == 0 {
			return &Error{Pointer: "/path", Detail: "the whole cannot be removed"}
		}
		p.tell(i, op, op.Path)
		if p.take(op.Path) == nil {
			return nothingAt("/path", op.Path)
		}
		return nil
	case "replace":
		return p.replace(i, op)
	case "add":
		return p.add(i, op, &Node{text: op.Value})
	}
	source := p.At(op.From)
	if source == nil {
		return nothingAt("/from", op.From)
	}
	if op.Op == "copy" {
		v := source.Value()
		if p.copied += len(v); p.copied > maxCopied {
			return &Error{Detail: fmt.Sprintf("a patch copies at most %d MiB", maxCopied>>20)}
		}
		return p.add(i, op, &Node{text: v})
	}
	if slices.Equal(op.From, op.Path) {
		return nil
	}
	p.tell(i, op, op.From)
	p.take(op.From)
	return p.add(i, op, source)
}

func (p *Patcher) tell(i int, op *Operation, path []string) {
	if p.Note != nil {
		p.Note(i, op, path)
	}
}

// At returns the node that a pointer leads to, nil where there is none.
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
		n = n.kids[i]
	}
	return n
}

// take removes the node that a pointer leads to and returns it.
func (p *Patcher) take(path []string) *Node {
	last := len(path) - 1
	if parent := p.At(path[:last]); parent != nil && parent.Open() {
		if i := parent.Find(path[last]); i >= 0 {
			return parent.take(i)
		}
	}
	return nil
}

// add puts a node where the operation's path leads.
func (p *Patcher) add(i int, op *Operation, n *Node) *Error {
	if len(op.Path) == 0 {
		p.Root = n
		p.tell(i, op, op.Path)
		return nil
	}
	last := len(op.Path) - 1
	parent := p.At(op.Path[:last])
	switch {
	case parent == nil:
		return nothingAt("/path", op.Path[:last])
	case !parent.Open():
		return &Error{Pointer: "/path", Detail: fmt.Sprintf("%s is %s and has no members", joinedOrRoot(op.Path[:last]), rawjson.KindName(parent.text))}
	case !parent.insert(op.Path[last], n):
		return &Error{Pointer: "/path", Detail: fmt.Sprintf("%q is no place in an array of %d: it is an index, or - for the end", rawjson.Shorten(op.Path[last]), len(parent.kids))}
	}
	path := op.Path
	if path[last] == "-" && parent.kind == '[' {
		path = append(slices.Clone(path[:last]), fmt.Sprint(len(parent.kids)-1))
	}
	p.tell(i, op, path)
	return nil
}

// replace puts the operation's value in the place of what is there.
func (p *Patcher) replace(i int, op *Operation) *Error {
	n := p.At(op.Path)
	if n == nil {
		return nothingAt("/path", op.Path)
	}
	*n = Node{text: op.Value, Origin: n.Origin}
	p.tell(i, op, op.Path)
	return nil
}

// shown returns the node's text, shortened to what a message can hold.
func (n *Node) shown() string {
	if n.text == nil && len(n.kids) > 10 { // not worth putting together
		return map[jsontext.Kind]string{'{': "another object", '[': "another array"}[n.kind]
	}
	return rawjson.Show(n.Value())
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
