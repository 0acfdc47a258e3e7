package pickup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of a JSON Patch. Each operation may move all elements of an array, and
// copies of copies grow without bound.
const (
	maxOperations = 10_000
	maxCopied     = 16 << 20 // bytes that copy operations add
	maxDepth      = 256      // of what a patch leaves, as of a body
	maxToken      = 1 << 10  // bytes of a name in a pointer, as in a body
)

// An operation is one step of a JSON Patch (RFC 6902).
type operation struct {
	op         string
	path, from []string // the tokens of the pointers (RFC 6901)
	value      jsontext.Value
}

// parsePatch reads a JSON Patch document. Of members that it does not know it
// takes no notice, as section 4 of RFC 6902 has it. The error is a *FaultError
// that wraps ErrShape.
func parsePatch(patch jsontext.Value) ([]operation, error) {
	if patch.Kind() != '[' {
		return nil, refusePatch("", `a JSON Patch is an array of operations, as in [{"op":"replace","path":"/title","value":"Vet"}]`)
	}
	var ops []operation
	var err error
	elements(patch, func(v jsontext.Value) bool {
		if len(ops) == maxOperations {
			err = refusePatch("", fmt.Sprintf("a JSON Patch has at most %d operations", maxOperations))
			return false
		}
		var op operation
		op, err = parseOperation(fmt.Sprintf("/%d", len(ops)), v)
		ops = append(ops, op)
		return err == nil
	})
	return ops, err
}

func parseOperation(at string, v jsontext.Value) (op operation, err error) {
	if v.Kind() != '{' {
		return op, refusePatch(at, "an operation is an object, not "+kindName(v))
	}
	name, _ := member(v, "op")
	if name.Kind() == '"' {
		op.op = text(name)
	}
	switch op.op {
	case "add", "remove", "replace", "move", "copy", "test":
	default:
		return op, refusePatch(at+"/op", "an operation has an op: add, remove, replace, move, copy or test")
	}
	if op.path, err = pointerMember(at, v, "path"); err != nil {
		return op, err
	}
	switch op.op {
	case "move", "copy":
		if op.from, err = pointerMember(at, v, "from"); err != nil {
			return op, err
		}
		if op.op == "move" && len(op.from) < len(op.path) && slices.Equal(op.from, op.path[:len(op.from)]) {
			return op, refusePatch(at+"/from", "a value cannot be moved into itself")
		}
	case "add", "replace", "test":
		value, ok := member(v, "value")
		if !ok {
			return op, refusePatch(at+"/value", "the operation "+op.op+" has a value")
		}
		op.value = compact(value)
	}
	return op, nil
}

// pointerMember reads a member that is a JSON Pointer.
func pointerMember(at string, v jsontext.Value, name string) ([]string, error) {
	p, ok := member(v, name)
	if !ok || p.Kind() != '"' {
		return nil, refusePatch(at+"/"+name, "a "+name+" is a JSON Pointer, such as \"/title\"")
	}
	s := text(p)
	if s != "" && s[0] != '/' {
		return nil, refusePatch(at+"/"+name, fmt.Sprintf("a JSON Pointer begins with a slash: %q", shorten("/"+s)))
	}
	if unescaped := strings.NewReplacer("~0", "", "~1", "").Replace(s); strings.Contains(unescaped, "~") {
		return nil, refusePatch(at+"/"+name, "behind ~ in a JSON Pointer stands 0 or 1")
	}
	path := tokens(s)
	if slices.ContainsFunc(path, func(token string) bool { return len(token) > maxToken }) {
		return nil, refusePatch(at+"/"+name, fmt.Sprintf("a member's name has at most %d bytes", maxToken))
	}
	return path, nil
}

func refusePatch(at, detail string) error {
	return &FaultError{Kind: ErrShape, Faults: []Fault{{at, detail}}}
}

// A patcher applies operations to a document, one after the other. Whoever
// uses it drops the document where one fails.
type patcher struct {
	root   *node
	copied int // bytes

	// note, if any, is told where an operation changes the document. A parent
	// is nil where that is the root.
	note func(i int, op *operation, path []string)
}

// apply does the operations. The error is a *FaultError with one fault.
func (p *patcher) apply(ops []operation) error {
	for i := range ops {
		if f := p.do(i, &ops[i]); f != nil {
			f.Pointer = fmt.Sprintf("/%d%s", i, f.Pointer)
			return &FaultError{Kind: ErrMismatch, Faults: []Fault{*f}}
		}
	}
	return nil
}

// do does one operation. The pointer of the fault leads into it.
func (p *patcher) do(i int, op *operation) *Fault {
	switch op.op {
	case "test":
		n := p.at(op.path)
		switch {
		case n == nil:
			return nothingAt("/path", op.path)
		case !n.equal(op.value):
			return &Fault{"/value", fmt.Sprintf("the test fails: %s is %s", joinedOrRoot(op.path), n.shown())}
		}
		return nil
	case "remove":
		if len(op.path) == 0 {
			return &Fault{"/path", "the whole cannot be removed"}
		}
		p.tell(i, op, op.path)
		if p.take(op.path) == nil {
			return nothingAt("/path", op.path)
		}
		return nil
	case "replace":
		return p.replace(i, op)
	case "add":
		return p.add(i, op, &node{text: op.value})
	}
	source := p.at(op.from)
	if source == nil {
		return nothingAt("/from", op.from)
	}
	if op.op == "copy" {
		v := source.value()
		if p.copied += len(v); p.copied > maxCopied {
			return &Fault{"", fmt.Sprintf("a patch copies at most %d MiB", maxCopied>>20)}
		}
		return p.add(i, op, &node{text: v})
	}
	if slices.Equal(op.from, op.path) {
		return nil
	}
	p.tell(i, op, op.from)
	p.take(op.from)
	return p.add(i, op, source)
}

func (p *patcher) tell(i int, op *operation, path []string) {
	if p.note != nil {
		p.note(i, op, path)
	}
}

// at returns the node that a pointer leads to, nil where there is none.
func (p *patcher) at(path []string) *node {
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

// take removes the node that a pointer leads to and returns it.
func (p *patcher) take(path []string) *node {
	last := len(path) - 1
	if parent := p.at(path[:last]); parent != nil && parent.open() {
		if i := parent.find(path[last]); i >= 0 {
			return parent.take(i)
		}
	}
	return nil
}

// add puts a node where the operation's path leads.
func (p *patcher) add(i int, op *operation, n *node) *Fault {
	if len(op.path) == 0 {
		p.root = n
		p.tell(i, op, op.path)
		return nil
	}
	last := len(op.path) - 1
	parent := p.at(op.path[:last])
	switch {
	case parent == nil:
		return nothingAt("/path", op.path[:last])
	case !parent.open():
		return &Fault{"/path", fmt.Sprintf("%s is %s and has no members", joinedOrRoot(op.path[:last]), kindName(parent.text))}
	case !parent.insert(op.path[last], n):
		return &Fault{"/path", fmt.Sprintf("%q is no place in an array of %d: it is an index, or - for the end", shorten(op.path[last]), len(parent.kids))}
	}
	path := op.path
	if path[last] == "-" && parent.kind == '[' {
		path = append(slices.Clone(path[:last]), fmt.Sprint(len(parent.kids)-1))
	}
	p.tell(i, op, path)
	return nil
}

// replace puts the operation's value in the place of what is there.
func (p *patcher) replace(i int, op *operation) *Fault {
	n := p.at(op.path)
	if n == nil {
		return nothingAt("/path", op.path)
	}
	*n = node{text: op.value, record: n.record, origin: n.origin}
	p.tell(i, op, op.path)
	return nil
}

// shown returns the node's text, shortened to what a message can hold.
func (n *node) shown() string {
	if n.text == nil && len(n.kids) > 10 { // not worth putting together
		return map[jsontext.Kind]string{'{': "another object", '[': "another array"}[n.kind]
	}
	return shown(n.value())
}

func nothingAt(member string, path []string) *Fault {
	return &Fault{member, "there is nothing at " + joinedOrRoot(path)}
}

func joinedOrRoot(path []string) string {
	if len(path) == 0 {
		return "the root"
	}
	return shorten(joined(path))
}
