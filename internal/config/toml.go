package config

import (
	"strconv"

	"github.com/pelletier/go-toml/v2/unstable"

	"pickup/internal/rawjson"
)

// tomlOffset returns the index of the key, the table or the element at pointer, or of the
// nearest parent.
func tomlOffset(text []byte, pointer string) int {
	places := make(map[string]int)
	tomlKeys(text, func(pointer string, offset int, _ *unstable.Node) {
		if _, known := places[pointer]; !known {
			places[pointer] = offset
		}
	})
	for tokens := rawjson.SplitPointer(pointer); ; tokens = tokens[:len(tokens)-1] {
		if offset, ok := places[rawjson.Pointer(tokens...)]; ok || len(tokens) == 0 {
			return offset
		}
	}
}

// tomlKeys calls yield with the pointer and the offset of each key and of each element of an
// array, in the order of a valid TOML document; values inside an element have no places. The
// value is nil for a table, and for all but the last part of a dotted key.
func tomlKeys(text []byte, yield func(pointer string, offset int, value *unstable.Node)) {
	tables := make(map[string]int) // in each array so far
	var read func(at string, n *unstable.Node) string
	read = func(at string, n *unstable.Node) string {
		for key := n.Key(); key.Next(); {
			at += rawjson.Pointer(string(key.Node().Data))
			offset := int(key.Node().Raw.Offset)
			if n.Kind == unstable.KeyValue && key.IsLast() {
				yield(at, offset, n.Value())
				i := 0
				for inner := n.Value().Children(); inner.Next(); i++ {
					if child := inner.Node(); child.Kind == unstable.KeyValue {
						read(at, child)
					} else if child.Raw.Length > 0 {
						yield(at+"/"+strconv.Itoa(i), int(child.Raw.Offset), child)
					}
				}
				break
			}
			yield(at, offset, nil)
			if n.Kind == unstable.ArrayTable && key.IsLast() {
				tables[at]++
			}
			if i := tables[at] - 1; i >= 0 {
				at += "/" + strconv.Itoa(i)
				yield(at, offset, nil)
			}
		}
		return at
	}
	var p unstable.Parser
	table := ""
	for p.Reset(text); p.NextExpression(); {
		if e := p.Expression(); e.Kind == unstable.KeyValue {
			read(table, e)
		} else {
			table = read("", e)
		}
	}
}
