package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// parse returns the rules of a JSON array.
func parse(t testing.TB, text string) []*Stub {
	t.Helper()
	rules, errs := Parse(jsontext.Value(text), time.Minute, false)
	if errs != nil {
		t.Fatalf("%s: %v", text, errs)
	}
	return rules
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		rule, method, path, query string
		want                      bool
	}{
		{rule: `{}`, method: "GET", path: "/", want: true},
		{rule: `{"path":"/"}`, method: "GET", path: "/", want: true},
		{rule: `{"path":"/"}`, method: "GET", path: "/a", want: false},
		{rule: `{"path":"/a"}`, method: "GET", path: "/a/", want: true},
		{rule: `{"path":"/a/"}`, method: "GET", path: "/a", want: true},
		{rule: `{"path":"/a"}`, method: "GET", path: "/a/b", want: false},
		{rule: `{"path":"/a"}`, method: "GET", path: "/A", want: false},
		{rule: `{"path":"/a/*"}`, method: "GET", path: "/a", want: false},
		{rule: `{"path":"/a/*"}`, method: "GET", path: "/a/b", want: true},
		{rule: `{"path":"/a/*"}`, method: "GET", path: "/a/b%2Fc", want: true},
		{rule: `{"path":"/a/*"}`, method: "GET", path: "/a/b/c", want: false},
		{rule: `{"path":"/*/b"}`, method: "GET", path: "/a/b", want: true},
		{rule: `{"path":"/a/**"}`, method: "GET", path: "/a", want: true},
		{rule: `{"path":"/a/**"}`, method: "GET", path: "/a/b/c", want: true},
		{rule: `{"path":"/a/**"}`, method: "GET", path: "/b", want: false},
		{rule: `{"path":"/**"}`, method: "GET", path: "/", want: true},
		{rule: `{"path":"/%2A"}`, method: "GET", path: "/*", want: true},
		{rule: `{"path":"/%2A"}`, method: "GET", path: "/a", want: false},
		{rule: `{"path":"/ä b"}`, method: "GET", path: "/%C3%A4%20b", want: true},
		{rule: `{"path":"/%C3%A4"}`, method: "GET", path: "/ä", want: true},
		{rule: `{"methods":["POST","PUT"]}`, method: "PUT", path: "/a", want: true},
		{rule: `{"methods":["POST","PUT"]}`, method: "GET", path: "/a", want: false},
		{rule: `{"methods":[]}`, method: "GET", path: "/a", want: true},
		{rule: `{"query":"a=1"}`, method: "GET", path: "/a", query: "b=2&a=1", want: true},
		{rule: `{"query":"?a=1&a=2"}`, method: "GET", path: "/a", query: "a=2&a=1&a=3", want: true},
		{rule: `{"query":"a=1&a=2"}`, method: "GET", path: "/a", query: "a=1", want: false},
		{rule: `{"query":"a=1"}`, method: "GET", path: "/a", want: false},
		{rule: `{"query":"a="}`, method: "GET", path: "/a", query: "a", want: true},
	} {
		text := strings.Replace(tt.rule, "{", `{"code":500,`, 1)
		rule := parse(t, "["+strings.Replace(text, ",}", "}", 1)+"]")[0]
		if got := rule.matches(NewRequest(tt.method, tt.path, tt.query)); got != tt.want {
			t.Errorf("%s and %s %s?%s: got %v", tt.rule, tt.method, tt.path, tt.query, got)
		}
	}
}

// TestPattern compares patterns of headers with regular expressions.
func TestPattern(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	word := func(letters string, most int) string {
		b := make([]byte, random.IntN(most+1))
		for i := range b {
			b[i] = letters[random.IntN(len(letters))]
		}
		return string(b)
	}
	matched := 0
	for range 20_000 {
		text, s := word("aab*", 6), word("aab", 8)
		expression := strings.ReplaceAll(text, "*", ".*")
		if text == "*" {
			expression = ".+"
		}
		want := regexp.MustCompile("^(" + expression + ")$").MatchString(s)
		if got := parsePattern(text).MatchString(s); got != want {
			t.Fatalf("%q matches %q: %t, want %t", text, s, got, want)
		}
		if want {
			matched++
		}
	}
	if matched < 1000 {
		t.Errorf("only %d texts match", matched)
	}
}

// TestPatternLimits parses patterns of headers at their limits and beyond.
func TestPatternLimits(t *testing.T) {
	for text, want := range map[string]bool{
		strings.Repeat("*", maxStars):     true,
		strings.Repeat("*", maxStars+1):   false,
		strings.Repeat("a", maxPattern):   true,
		strings.Repeat("a", maxPattern+1): false,
	} {
		_, errs := Parse(jsontext.Value(`[{"request-headers":{"a":"`+text+`"},"delay":1}]`), time.Minute, false)
		if (errs == nil) != want {
			t.Errorf("%d bytes: %v", len(text), errs)
		}
	}
}

// TestPercent checks how often a rule applies, and that a seed repeats it.
func TestPercent(t *testing.T) {
	const n = 20_000
	for _, percent := range []float64{0.5, 20, 50, 99, 100} {
		var runs []string
		for range 2 {
			var rules Stubs
			rules.Set(parse(t, fmt.Sprintf(`[{"percent":%v,"code":500}]`, percent)))
			dice := Seeded(7)
			hits, run := 0, make([]byte, n)
			for i := range n {
				if rules.Find(NewRequest("GET", "/", ""), dice).Code != 0 {
					hits++
					run[i] = 1
				}
			}
			p := percent / 100
			if far := math.Abs(float64(hits) - n*p); far > 4*math.Sqrt(n*p*(1-p)) {
				t.Errorf("%v percent: %d of %d", percent, hits, n)
			}
			runs = append(runs, string(run))
		}
		if runs[0] != runs[1] {
			t.Errorf("%v percent: the seed does not repeat", percent)
		}
	}
}

// TestRange checks that each time of a range is equally likely.
func TestRange(t *testing.T) {
	const n = 60_000
	r, err := ParseRange("200-205")
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[time.Duration]int)
	for _, dice := range []Dice{Seeded(1), Random()} {
		clear(counts)
		for range n {
			counts[r.Pick(dice)]++
		}
		deviation := 0.0
		for ms := 200; ms <= 205; ms++ {
			far := float64(counts[time.Duration(ms)*time.Millisecond]) - n/6
			deviation += far * far / (n / 6)
		}
		if len(counts) != 6 || deviation > 35 { // chi-square with 5 degrees: one in a million
			t.Errorf("times of %s: %v", r, counts)
		}
	}
}

func TestParseRange(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{text: "0", want: "0"}, {text: "500", want: "500"}, {text: "200-800", want: "200-800"}, {text: "007-7", want: "7"},
		{text: ""}, {text: "-"}, {text: "1-"}, {text: "-1"}, {text: "8-2"}, {text: "1.5"}, {text: "5s"}, {text: "+1"}, {text: "1-2-3"},
		{text: "99999999999999999999"}, {text: "9223372036854775807"},
	} {
		r, err := ParseRange(tt.text)
		got := ""
		if err == nil {
			got = r.String()
		}
		if got != tt.want {
			t.Errorf("%q: got %q, %v", tt.text, got, err)
		}
	}
}

func TestIsName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "A-z_0.9": true, "..a": true, strings.Repeat("a", 64): true,
		"": false, ".": false, "..": false, "a b": false, "a/b": false, "ä": false, "a\n": false, strings.Repeat("a", 65): false,
	} {
		if IsName(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// TestRulesTogether uses and changes rules at once. times is exact nevertheless.
func TestRulesTogether(t *testing.T) {
	var rules Stubs
	rules.Set(parse(t, `[{"path":"/a","code":500,"after":10,"times":100}]`))
	var all sync.WaitGroup
	var hits [8]int
	for i := range hits {
		all.Go(func() {
			for range 100 {
				if rules.Find(NewRequest("GET", "/a", ""), Random()).Code != 0 {
					hits[i]++
				}
				rules.AppendJSON(nil)
			}
		})
	}
	all.Go(func() {
		for range 100 {
			rules.Add(parse(t, `[{"path":"/b","code":501}]`)[0])
			rules.Remove("2")
			rules.Size()
		}
	})
	all.Wait()
	sum := 0
	for _, n := range hits {
		sum += n
	}
	if sum != 100 {
		t.Errorf("the rule was applied %d times", sum)
	}
}

// TestParseLimits parses what a client may send to keep the server busy.
func TestParseLimits(t *testing.T) {
	for name, text := range map[string]string{
		"rules":   "[" + strings.Repeat(`{"code":500},`, 500_000) + `{"code":500}]`,
		"errors":  "[" + strings.Repeat("{},", 500_000) + "{}]",
		"members": `[{"0":0` + manyMembers(200_000) + "}]",
	} {
		start := time.Now()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rules, errs := Parse(jsontext.Value(text), time.Minute, false)
		runtime.ReadMemStats(&after)
		if len(rules) > MaxStubs+1 || len(errs) > 2*maxErrors || (name == "rules") == (len(errs) > 0) {
			t.Errorf("%s: %d rules and %d errors", name, len(rules), len(errs))
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 20<<20 {
			t.Errorf("%s: %d bytes and %v for %d bytes of text", name, used, time.Since(start), len(text))
		}
	}
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"member%d":1`, i)
	}
	return b.String()
}

// FuzzRule checks that a rule that parses is shown as one that parses.
func FuzzRule(f *testing.F) {
	for _, s := range []string{
		`{"path":"/a/*","methods":["GET"],"query":"a=1","delay":"1-2","code":503,"percent":20,"after":2,"times":3}`,
		`{"request-headers":{"authorization":"Bearer *","x-a":""},"where":"user=anna&age_gte=3","code":500}`,
		`{"code":200,"body":{"a":[1,"\u00e4"]},"headers":{"X-A":"b"}}`, `{"fault":"lost-answer"}`, `{"hold":"a"}`, `[]`, `{"code":1e3}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !jsontext.Value(text).IsValid() {
			return
		}
		rule, errs := ParseStub(text, time.Minute, false)
		if errs != nil || strings.Contains(string(rule.text), hidden) {
			return
		}
		var rules Stubs
		rules.Set([]*Stub{rule})
		rules.Find(NewRequest("GET", "/a/b", "a=1"), Random())
		shown := rules.AppendJSON(nil)
		if again, errs := Parse(shown, time.Minute, false); errs != nil || len(again) != 1 {
			t.Errorf("%s is shown as %s: %v", text, shown, errs)
		}
	})
}
