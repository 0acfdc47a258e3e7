package main

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestImportAgain imports while others write: after a 409 or a 412 the database is read
// again, what is stored is not sent twice, and a failure names what was stored. A collection is
// set only in the state that was read.
func TestImportAgain(t *testing.T) {
	const (
		empty  = `{}`
		first  = `{"a":[{"id":1}]}`
		both   = `{"a":[{"id":1},{"id":2,"theirs":true}]}`
		makeA  = `{"op":"set","collection":"a","value":[]}`
		setOne = `{"op":"set","collection":"a","value":[{"id":1}]}`
		set12  = `{"op":"set","collection":"a","value":[{"id":1},{"id":2}]}`
		two    = `{"op":"create","collection":"a","record":{"id":2}}`
	)
	long := strings.Repeat("x", 930)
	setO := `{"op":"set","collection":"o","value":{"long":"` + long + `"}}`
	for _, test := range []struct {
		name    string
		maxBody int64
		text    string // of the source; "": the records 1 and 2
		replace bool
		dbs     []string // answers to GET /db, one after another
		codes   []int    // answers to POST /_/transaction
		want    []string // operations, with ~ before those that are only tried, and the tag before others
		err     string
	}{
		{name: "one part", maxBody: 1000, dbs: []string{empty}, codes: []int{204}, want: []string{`"1"` + set12}},
		{name: "another writes first", maxBody: 1000, dbs: []string{empty, first}, codes: []int{409, 204}, want: []string{`"1"` + set12, two}},
		{name: "another writes after the read", maxBody: 1000, dbs: []string{empty, first}, codes: []int{412, 204}, want: []string{`"1"` + set12, two}},
		{name: "another makes the record", maxBody: 1000, dbs: []string{first, both}, codes: []int{409}, want: []string{two}},
		{
			name: "others write all the time", maxBody: 1000, dbs: slices.Repeat([]string{empty}, mostReads), codes: slices.Repeat([]int{412}, mostReads),
			want: []string{
				`"1"` + set12, `"2"` + set12, `"3"` + set12, `"4"` + set12, `"5"` + set12,
				`"6"` + set12, `"7"` + set12, `"8"` + set12, `"9"` + set12, `"10"` + set12,
			},
			err: "others change the database again and again: run the import again (Taken.)",
		},
		{
			name: "a set in the second part", maxBody: 1000, text: `{"a":[{"id":1}],"o":{"long":"` + long + `"}}`,
			dbs: []string{empty, first}, codes: []int{204, 204, 204, 204},
			want: []string{"~" + setOne, "~" + makeA + "," + setO, `"1"` + setOne, `"2"` + setO},
		},
		{name: "nobody wrote", maxBody: 1000, dbs: []string{empty, empty}, codes: []int{409, 409}, want: []string{`"1"` + set12, `"2"` + set12}, err: "Taken."},
		{
			name: "replaced", maxBody: 1000, replace: true, dbs: []string{both}, codes: []int{204},
			want: []string{`{"op":"replace","collection":"a","id":"2","record":{"id":2}}`},
		},
		{
			name: "two parts", maxBody: 60, dbs: []string{empty}, codes: []int{204, 204, 204, 204},
			want: []string{"~" + setOne, "~" + makeA + "," + two, `"1"` + setOne, two},
		},
		{
			name: "another writes between two parts", maxBody: 60, dbs: []string{empty, first}, codes: []int{204, 204, 204, 409, 204},
			want: []string{"~" + setOne, "~" + makeA + "," + two, `"1"` + setOne, two, two},
		},
		{
			name: "the second part fails", maxBody: 60, dbs: []string{empty}, codes: []int{204, 204, 204, 503},
			want: []string{"~" + setOne, "~" + makeA + "," + two, `"1"` + setOne, two},
			err:  "a part was imported (revision R-3), the rest was not: Taken.",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var sent []string
			reads := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					reads++
					w.Header().Set("ETag", fmt.Sprintf("%q", strconv.Itoa(reads)))
					fmt.Fprint(w, test.dbs[reads-1])
					return
				}
				body, _ := io.ReadAll(r.Body)
				text := strings.TrimSuffix(strings.TrimPrefix(string(body), "["), "]")
				if strings.Contains(r.Header.Get("Prefer"), "tx=rollback") {
					text = "~" + text
				}
				sent = append(sent, r.Header.Get("If-Match")+text)
				w.Header().Set("Pickup-Revision", fmt.Sprintf("R-%d", len(sent)))
				w.WriteHeader(test.codes[len(sent)-1])
				if test.codes[len(sent)-1] != http.StatusNoContent {
					fmt.Fprint(w, `{"detail":"Taken."}`)
				}
			}))
			defer server.Close()
			u, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			m := &dataImport{
				importCommand: &importCommand{Source: "a.json", Replace: test.replace}, path: filepath.Join(t.TempDir(), "db.json"),
				text: []byte(cmp.Or(test.text, `[{"id":1},{"id":2}]`)),
			}
			err = m.send(t.Context(), &client{server: u, maxBody: test.maxBody})
			if (err == nil) != (test.err == "") || err != nil && err.Error() != test.err {
				t.Errorf("the error is %v, want %s", err, test.err)
			}
			if !slices.Equal(sent, test.want) {
				t.Errorf("sent were\n%s\nwant\n%s", strings.Join(sent, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}
