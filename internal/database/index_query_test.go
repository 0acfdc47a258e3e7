package database_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
)

// TestQueryIndexes queries a collection that is large enough for every kind of
// index, repeatedly while it changes, and compares with the naive evaluator.
func TestQueryIndexes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	records := make([]string, times(1100, 1500))
	for i := range records {
		records[i] = randomRecord(rnd, fmt.Sprint(i))
	}
	value := func() string {
		if rnd.IntN(2) == 0 {
			return pick(rnd, indexNumbers...)
		}
		return pick(rnd, indexTexts...)
	}
	db := openMem(t, `{"c":[`+strings.Join(records, ",")+`,5,{"n":1},"text"]}`)
	for range times(2, 10) {
		s := db.Snapshot()
		n := newNaive(t, whole(s))
		for range times(12, 25) {
			checkQuery(t, s, n, "c", randomNaive(rnd, []string{"n", "m", "s", "k", "nobody"}, value))
		}
		if _, err := db.Update(t.Context(), func(tx *database.Tx) error {
			for range 40 {
				id := fmt.Sprint(rnd.IntN(len(records)))
				body := jsontext.Value(randomRecord(rnd, id))
				var err error
				if _, missing := tx.Snapshot().Get("c", id); missing != nil {
					_, err = tx.Put(database.Create, "c", "", body)
				} else if rnd.IntN(3) == 0 {
					_, err = tx.Delete("c", id)
				} else {
					_, err = tx.Put(database.Replace, "c", id, body)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// indexNumbers and indexTexts are nearly equal in many ways: they differ in the
// last of many digits, the sign, the exponent, the end of a long text, the order
// of code units, or a NUL.
var (
	indexNumbers = []string{"0", "-0", "1", "1.0", "-1", "-1.5", "-12", "-1.25", "12", "120", "0.12",
		"1e-400", "-1e-400", "1e400", "-1e400", "99", "100",
		"9007199254740993", "9007199254740992",
		"1" + strings.Repeat("0", 70) + "1", "1" + strings.Repeat("0", 70) + "2", "-1" + strings.Repeat("0", 70) + "1", "1e71"}
	indexTexts = []string{"", "a", "a\x00", "a\x00\x00", "a\x01", "ab", "b", "\uffee", "\U0001f600", "\ue000", "\ud7ff",
		"1", "100", "-1.50", "01", "9", "1e400", "1" + strings.Repeat("0", 70) + "3", "null",
		strings.Repeat("long ", 13) + "a", strings.Repeat("long ", 13) + "b", strings.Repeat("long ", 12) + "long",
		strings.Repeat("x", 62), strings.Repeat("x", 63), strings.Repeat("x", 64)}
)

func randomRecord(rnd *rand.Rand, id string) string {
	quoted := func() string {
		b, _ := json.Marshal(pick(rnd, indexTexts...))
		return string(b)
	}
	value := func() string {
		switch rnd.IntN(8) {
		case 0, 1, 2:
			return pick(rnd, indexNumbers...)
		case 3, 4, 5:
			return quoted()
		case 6:
			return pick(rnd, "true", "false", "null", "{}", `{"x":1}`)
		}
		return "[" + pick(rnd, indexNumbers...) + "," + quoted() + "]"
	}
	r := fmt.Sprintf(`{"id":"%s","k":%d`, id, rnd.IntN(3))
	for _, name := range []string{"n", "m"} {
		if rnd.IntN(8) > 0 {
			r += `,"` + name + `":` + value()
		}
	}
	// A number beside strings that are numbers is there in some rounds only.
	if rnd.IntN(1000) == 0 {
		r += `,"s":12`
	} else if s, _ := json.Marshal(pick(rnd, indexNumbers...)); rnd.IntN(8) > 0 {
		r += `,"s":` + string(s)
	}
	return r + "}"
}
