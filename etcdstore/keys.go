package etcdstore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// The keys of a database, without its prefix.
const (
	headKey    = "head"
	rulesKey   = "rules"
	memberKeys = "c/"
	recordKeys = "r/"

	rankDigits  = 6
	placeDigits = 12
)

// defaultIDMember is the field with the ids of a collection unless KeyBy sets another.
const defaultIDMember = "id"

// layout is the version of the keys and their values.
const layout = 1

// A head is the value of the head.
type head struct {
	Layout   int      `json:"pickup"`
	Database string   `json:"database"`         // generated once, so that no revision means two things
	Prev     int64    `json:"prev"`             // the revision of the previous head
	After    string   `json:"after,omitempty"`  // its commit
	Commit   string   `json:"commit"`           // a name that is never used twice
	Count    int64    `json:"count"`            // the number of heads before this one
	Keys     int      `json:"keys,omitempty"`   // see I9
	Whole    []string `json:"whole,omitempty"`  // the collections that this commit replaced
	Reload   bool     `json:"reload,omitempty"` // what changed is not known: read everything
	Reset    int64    `json:"reset,omitempty"`  // the revision of the last head with Reload, unless it is this one

	text string // its value in etcd, as it was read or written
}

// encode sets the text of a new head, and returns it.
func (h *head) encode() string {
	b, _ := json.Marshal(h) // cannot fail: strings and numbers
	h.text = string(b)
	return h.text
}

func decodeHead(v []byte) (h head, err error) {
	if err = json.Unmarshal(v, &h); err != nil {
		return h, broken("the key %s is not a head: %v", headKey, err)
	}
	if h.Layout != layout {
		return h, broken("the key %s has the layout %d and this version knows %d: use a newer version", headKey, h.Layout, layout)
	}
	h.text = string(v)
	return h, nil
}

// padded returns n with leading zeros, so that keys are in the order of numbers.
func padded(n uint64, digits int) string { return fmt.Sprintf("%0*d", digits, n) }

// escaper makes a name one segment of a key that terminals can show.
var escaper = func() *strings.Replacer {
	var pairs []string
	for c := range rune(0x80) {
		if c < 0x20 || c == '/' || c == '%' || c == 0x7f {
			pairs = append(pairs, string(c), fmt.Sprintf("%%%02X", c))
		}
	}
	return strings.NewReplacer(pairs...)
}()

func memberKey(rank uint64, name string) string {
	return memberKeys + padded(rank, rankDigits) + "/" + escaper.Replace(name)
}

func recordKey(name string, at uint64, key string) string {
	return recordsOf(name) + padded(at, placeDigits) + "/" + escaper.Replace(key)
}

func recordsOf(name string) string { return recordKeys + escaper.Replace(name) + "/" }

// parseKey parses a key under r/, of a record of a collection, or under c/, of a member.
func parseKey(key string) (collection string, p pair, isRecord, ok bool) {
	if key, isRecord = strings.CutPrefix(key, recordKeys); isRecord {
		collection, key, ok = strings.Cut(key, "/")
	} else {
		key, ok = strings.CutPrefix(key, memberKeys)
	}
	number, name, found := strings.Cut(key, "/")
	at, err := strconv.ParseUint(number, 10, 64)
	name, inName := url.PathUnescape(name)
	collection, inCollection := url.PathUnescape(collection)
	ok = ok && found && cmp.Or(err, inName, inCollection) == nil && (name != "" || !isRecord)
	return collection, pair{at: at, name: name}, isRecord, ok
}

// collectionValue returns the value of a collection under c/.
func collectionValue(idMember string) []byte {
	if idMember == defaultIDMember {
		return []byte("[]")
	}
	return append(rawjson.AppendQuote([]byte("["), idMember), ']')
}

// idMemberOf returns the field that the value of a collection under c/ names.
func idMemberOf(value jsontext.Value) string {
	for v := range rawjson.Elements(value) {
		if name, ok := rawjson.Text(v); ok {
			return name
		}
	}
	return defaultIDMember
}
