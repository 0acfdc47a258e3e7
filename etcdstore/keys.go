package etcdstore

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/rawjson"
)

// The keys of a database, without the prefix.
const (
	headKey    = "head"
	rulesKey   = "rules"
	fieldKeys  = "c/"
	recordKeys = "r/"

	rankDigits  = 6
	placeDigits = 12
)

// defaultIDField is the field with the ids of a collection unless KeyBy sets another.
const defaultIDField = "id"

// layout is the version of the keys and their values.
const layout = 1

// padded returns n with leading zeros, so that keys sort like their numbers.
func padded(n uint64, digits int) string { return fmt.Sprintf("%0*d", digits, n) }

// escaper turns a name into one segment of a key that terminals can show.
var escaper = func() *strings.Replacer {
	var pairs []string
	for c := range rune(0x80) {
		if c < 0x20 || c == '/' || c == '%' || c == 0x7f {
			pairs = append(pairs, string(c), fmt.Sprintf("%%%02X", c))
		}
	}
	return strings.NewReplacer(pairs...)
}()

// fieldKey returns the key of a top-level field.
func fieldKey(rank uint64, name string) string {
	return fieldKeys + padded(rank, rankDigits) + "/" + escaper.Replace(name)
}

// recordKey returns the key of a record of a collection.
func recordKey(collection string, place uint64, key string) string {
	return recordsOf(collection) + padded(place, placeDigits) + "/" + escaper.Replace(key)
}

// recordsOf returns the prefix of the keys of a collection's records.
func recordsOf(collection string) string { return recordKeys + escaper.Replace(collection) + "/" }

// parseKey parses the key of a record of a collection, or of a top-level field.
func parseKey(key string) (collection string, p pair, isRecord, ok bool) {
	rest, isRecord := strings.CutPrefix(key, recordKeys)
	if isRecord {
		collection, rest, ok = strings.Cut(rest, "/")
	} else {
		rest, ok = strings.CutPrefix(key, fieldKeys)
	}
	number, name, hasName := strings.Cut(rest, "/")
	if !ok || !hasName || isRecord && name == "" {
		return "", pair{}, isRecord, false
	}
	at, err := strconv.ParseUint(number, 10, 64)
	name, nameErr := url.PathUnescape(name)
	collection, collectionErr := url.PathUnescape(collection)
	return collection, pair{at: at, name: name}, isRecord, cmp.Or(err, nameErr, collectionErr) == nil
}

// collectionValue returns the value of the key of a collection.
func collectionValue(idField string) []byte {
	if idField == defaultIDField {
		return []byte("[]")
	}
	return append(rawjson.AppendQuote([]byte("["), idField), ']')
}

// idFieldOf returns the id field in the value of the key of a collection.
func idFieldOf(value jsontext.Value) string {
	for v := range rawjson.Elements(value) {
		if name, ok := rawjson.Text(v); ok {
			return name
		}
	}
	return defaultIDField
}

// toEnd makes a call read, watch or delete all keys up to the end of the prefix.
func (s *Store) toEnd() clientv3.OpOption {
	return clientv3.WithRange(clientv3.GetPrefixRangeEnd(s.prefix))
}
