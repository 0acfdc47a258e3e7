//go:build linux

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

type object = map[string]any

// decode parses a database or an answer.
func decode(text []byte) (any, error) {
	var v any
	err := json.Unmarshal(text, &v)
	return v, err
}

// records returns a collection of a database from data.go.
func records(database, collection string) []any {
	v, err := decode([]byte(database))
	if err != nil {
		panic(err) // a mistake in data.go
	}
	return v.(object)[collection].([]any)
}

// where returns the records whose member equals value.
func where(list []any, member string, value any) []any {
	return slices.DeleteFunc(slices.Clone(list), func(r any) bool { return r.(object)[member] != value })
}

// search returns the records with a value that contains the word.
func search(list []any, word string) []any {
	return slices.DeleteFunc(slices.Clone(list), func(r any) bool {
		for _, v := range r.(object) {
			if strings.Contains(strings.ToLower(fmt.Sprint(v)), word) {
				return false
			}
		}
		return true
	})
}

// ranked returns the records sorted by descending rank.
func ranked(list []any) []any {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b any) int {
		return cmp.Compare(b.(object)["rank"].(float64), a.(object)["rank"].(float64))
	})
	return list
}

// check compares the body of an answer with the expected value. Of a page of
// json-server 1 it compares the data.
func check(body []byte, want any) error {
	got, err := decode(body)
	if err != nil {
		return err
	}
	if o, ok := got.(object); ok && o["data"] != nil {
		got = o["data"]
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("wrong answer: %.200s", body)
	}
	return nil
}
