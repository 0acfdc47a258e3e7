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

// decode reads a database of this program, or what a server answered.
func decode(text []byte) (any, error) {
	var v any
	err := json.Unmarshal(text, &v)
	return v, err
}

// records returns a collection of a database that this program made.
func records(database, collection string) []any {
	v, err := decode([]byte(database))
	if err != nil {
		panic(err) // data.go is wrong
	}
	return v.(object)[collection].([]any)
}

// where returns the records whose member equals value.
func where(list []any, member string, value any) []any {
	return slices.DeleteFunc(slices.Clone(list), func(r any) bool { return r.(object)[member] != value })
}

// search returns the records of which a value contains the word.
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

// ranked returns the records in descending order of their rank.
func ranked(list []any) []any {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b any) int {
		return cmp.Compare(b.(object)["rank"].(float64), a.(object)["rank"].(float64))
	})
	return list
}

// check holds an answer against what is right. An envelope of json-server v1
// counts as what is in it.
func check(body []byte, want any) error {
	got, err := decode(body)
	if err != nil {
		return err
	}
	if o, ok := got.(object); ok && o["data"] != nil {
		got = o["data"]
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("a wrong answer: %.200s", body)
	}
	return nil
}
