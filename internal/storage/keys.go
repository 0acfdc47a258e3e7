package storage

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/ordered"
	"pickup/internal/rawjson"
)

// IsPositionKey reports whether key is the key of an element without a usable id: NUL and
// the position in the array when the array was loaded. No URL contains such a key, and no id
// equals one.
func IsPositionKey(key string) bool { return strings.HasPrefix(key, "\x00") }

// ID returns the id of an element as text: the value of the field called name. Usable ids are
// numbers, as spelled, and strings that are not empty and do not begin with NUL. The value
// must be valid JSON.
func ID(value jsontext.Value, name string) (id string, ok bool) {
	v, _ := rawjson.Member(value, name)
	id, ok = rawjson.Text(v)
	if id == "" || IsPositionKey(id) {
		return "", false
	}
	return id, ok
}

// Keys assigns keys to the elements of one array, in order.
type Keys struct {
	name   string              // of the field with the ids
	n      int                 // number of elements so far
	rising []string            // ids greater than all before, by ordered.Compare
	others map[string]struct{} // the other ids
}

// NewKeys returns Keys for an array whose elements have their ids in the field called name.
func NewKeys(name string) *Keys {
	return &Keys{name: name, others: make(map[string]struct{})}
}

// Next returns the key of the next element.
func (k *Keys) Next(value jsontext.Value) string {
	id, _ := ID(value, k.name)
	return k.Give(id)
}

// Give is like Next for an element with a known id. If id is empty, Give makes a key.
func (k *Keys) Give(id string) string {
	n := k.n
	k.n++
	if id != "" && k.take(id) {
		return id
	}
	return "\x00" + strconv.Itoa(n)
}

// take adds id and reports whether it is new. Most ids are counted up, or are UUIDs that
// contain the time, so a comparison with the last rising id suffices.
func (k *Keys) take(id string) bool {
	if n := len(k.rising); n == 0 || ordered.Compare(k.rising[n-1], id) < 0 {
		k.rising = append(k.rising, id)
		return true
	}
	if _, taken := slices.BinarySearchFunc(k.rising, id, ordered.Compare); taken {
		return false
	}
	if _, taken := k.others[id]; taken {
		return false
	}
	k.others[id] = struct{}{}
	return true
}
