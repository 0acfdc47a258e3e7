package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/jsonpatch"
)

// inBrowser returns what a JavaScript function makes of each text. The function may
// use everything that the modules json.ts, query.ts and schema.ts export. If it
// throws, the result is "error: " and the message.
func inBrowser(t *testing.T, function string, texts []string) []string {
	t.Helper()
	input, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	bundled := api.Build(api.BuildOptions{
		Stdin: &api.StdinOptions{ResolveDir: "../src/data", Contents: `
			import * as json from "./json.ts";
			import * as query from "./query.ts";
			import * as schema from "./schema.ts";
			const run = ` + function + `;
			const results = ` + string(input) + `.map(text => {
				try { return run(text) } catch (error) { return "error: " + error.message }
			});
			document.body.textContent = JSON.stringify(results);`},
		Bundle: true, Write: false, Format: api.FormatIIFE,
	})
	if len(bundled.Errors) > 0 {
		t.Fatal(api.FormatMessages(bundled.Errors, api.FormatMessagesOptions{}))
	}
	dir := t.TempDir()
	const document = `<!DOCTYPE html><meta charset="utf-8"><body><script src="script.js"></script>`
	err = errors.Join(os.WriteFile(dir+"/page.html", []byte(document), 0o644), os.WriteFile(dir+"/script.js", bundled.OutputFiles[0].Contents, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	browser := exec.Command("chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir="+dir+"/browser", "--dump-dom", "file://"+dir+"/page.html")
	output, err := browser.Output()
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(output), "<body>")
	text, _, _ = strings.Cut(text, "</body>")
	var results []string
	if err := json.Unmarshal([]byte(html.UnescapeString(text)), &results); err != nil || len(results) != len(texts) {
		t.Fatalf("%d results of %d texts: %v\n%s", len(results), len(texts), err, text)
	}
	return results
}

// TestQuery reads and writes queries: the parameters in the manual, and others. A query
// must mean the same afterwards.
func TestQuery(t *testing.T) {
	manual, err := os.ReadFile("../../../docs/query.md")
	if err != nil {
		t.Fatal(err)
	}
	var queries []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|").FindAllSubmatch(manual, -1) {
		for _, code := range regexp.MustCompile("`([^`]*)`").FindAllSubmatch(row[1], -1) {
			if text := string(code[1]); strings.Contains(text, "=") {
				queries = append(queries, text)
			} else {
				queries = append(queries, "f:"+text+"=v", "f_"+text+"=v", "a.b:"+text+"=v,w")
			}
		}
	}
	if len(queries) < 30 {
		t.Fatalf("the manual has only %q", queries)
	}
	queries = append(queries,
		"status=Canceled&_sort=-pickupTime", "_sort=-a,b,-c", "f=", "f=a+b%20c%2Bd", "f=%26%3D%23%25%3F", "a%26b=1", "a%3Db=1", "caf%C3%A9=%F0%9F%91%A9",
		"f:gte=2026-09-15T08:00:00Z", "f:like=%5Ea.*%5C%7B", "_where=%7B%22or%22%3A%5B%7B%22a%22%3A1%7D%5D%7D", "f:unknown=1", ":eq=1", "__proto__=1",
		"constructor:ne=x", "constructor:constructor=x", "q=a%26b+c", "q=a&q=b", "_sort=a&_sort=b", "_limt=3", "f=%3Cscript%3E", "f:eq=x",
		"_sort=a%2Cb", "_start=10&_end=20")
	written := inBrowser(t, `text => query.writeQuery(query.readQuery(text))`, queries)
	twice := inBrowser(t, `text => query.writeQuery(query.readQuery(text))`, written)
	for i, text := range queries {
		before, err1 := url.ParseQuery(text)
		after, err2 := url.ParseQuery(written[i])
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		for name := range before { // f:eq is another name of f
			if plain, ok := strings.CutSuffix(name, ":eq"); ok && plain != "" {
				before[plain] = append(before[plain], before[name]...)
				delete(before, name)
			}
		}
		if !reflect.DeepEqual(before, after) || twice[i] != written[i] {
			t.Errorf("%s becomes %s, then %s", text, written[i], twice[i])
		}
	}
}

// TestTypedConditions reads what people type into the filter.
func TestTypedConditions(t *testing.T) {
	tests := []struct{ typed, query string }{
		{typed: "status=Canceled", query: "status=Canceled"},
		{typed: "STATUS = Canceled ", query: "status=Canceled"},
		{typed: "pickupTime>=2026-09-15", query: "pickupTime:gte=2026-09-15"},
		{typed: "price<=1.10", query: "price:lte=1.10"},
		{typed: "price<2", query: "price:lt=2"},
		{typed: "price>2", query: "price:gt=2"},
		{typed: "price!=0", query: "price:ne=0"},
		{typed: "title~vet & dog", query: "title:contains=vet+%26+dog"},
		{typed: "name^A", query: "name:startsWith=A"},
		{typed: "a=b=c", query: "a=b%3Dc"},
		{typed: "other=", query: "other="},
		{typed: "any text", query: "none"},
		{typed: "=x", query: "none"},
		{typed: "two words=x", query: "none"},
	}
	var typed []string
	for _, test := range tests {
		typed = append(typed, test.typed)
	}
	for i, got := range inBrowser(t, `text => {
		const term = query.parseTerm(text, ["status", "price", "title"]);
		return term ? query.writeQuery(query.withTerm(query.readQuery(""), term)) : "none";
	}`, typed) {
		if got != tests[i].query {
			t.Errorf("%q is %s, want %s", typed[i], got, tests[i].query)
		}
	}
}

// numbers are valid JSON. JavaScript would spell most of them in another way.
var numbers = []string{
	"0", "-0", "1", "-1", "123", "-123", "1.0", "1.10", "0.1", "-0.0", "100", "123.456789", "0e1", "0e+1", "1e2", "1E2", "1E+2", "1e-2", "1E22", "123e45",
	"123.456e78", "123.456E-78", "1e400", "-1e400", "1e-400", "12345678901234567890", "-12345678901234567890", "9007199254740993", "0.1000000000000000055511",
	"-0.000000000000000000000000000000000000000000000000000000000000000000000000000001", "1.7976931348623157e309",
}

// TestNumbers reads and writes numbers, alone and in values. Each keeps its spelling.
func TestNumbers(t *testing.T) {
	var texts []string
	for _, n := range numbers {
		texts = append(texts, n, "["+n+","+n+"]", `{"a":`+n+`,"b":[{"c":`+n+`}]}`)
	}
	for i, got := range inBrowser(t, `text => json.stringify(json.parse(text))`, texts) {
		if got != texts[i] {
			t.Errorf("%s becomes %s", texts[i], got)
		}
	}
	// So does one that is typed into a field.
	field := `({name: "n", kind: "number", choices: [], historic: []})`
	for i, got := range inBrowser(t, `text => json.stringify({n: schema.valueOf(`+field+`, text, undefined)})`, numbers) {
		if want := `{"n":` + numbers[i] + `}`; got != want {
			t.Errorf("%s becomes %s", want, got)
		}
	}
	for i, got := range inBrowser(t, `text => schema.typedOf(json.parse(text))`, numbers) {
		if got != numbers[i] {
			t.Errorf("%s is shown as %s", numbers[i], got)
		}
	}
	invalid := []string{"", "+1", "-01", "01", "1.", "0x1", ".5", "-", "1e", "1e+", "--1", "NaN", "-NaN", "Infinity", "-Infinity", "1_000", "１", "1 2", "0.e1", "2.e3"}
	for i, got := range inBrowser(t, `text => json.stringify(json.parse(text))`, invalid) {
		if !strings.HasPrefix(got, "error: ") {
			t.Errorf("%q is read as %s", invalid[i], got)
		}
	}
}

// TestTypedValues reads what people type into fields. An empty input is an empty text
// only where the rules have texts.
func TestTypedValues(t *testing.T) {
	tests := []struct{ rule, required, before, typed, want string }{
		{rule: `{"type": "string"}`, before: `"a"`, typed: "", want: `""`},
		{rule: `{"type": "string"}`, before: "", typed: "", want: "none"},
		{rule: `{"type": ["string", "null"]}`, before: "null", typed: "", want: "null"},
		{rule: `{"type": "string", "format": "date-time"}`, before: `"2026-09-14T07:40:00Z"`, typed: "", want: "none"},
		{rule: `{"type": ["string", "null"], "format": "date"}`, before: `"2026-09-14"`, typed: "", want: "null"},
		{rule: `{"type": "integer"}`, before: "5", typed: "", want: "none"},
		{rule: `{"type": ["integer", "null"]}`, required: "m", before: "5", typed: "", want: "null"},
		{rule: `{"type": "integer"}`, required: "m", before: "5", typed: "", want: "error: A value is required."},
		{rule: `{"type": "number"}`, before: "5", typed: " 1.10 ", want: "1.10"},
		{rule: `{"type": "number"}`, before: "5", typed: "12345678901234567890", want: "12345678901234567890"},
		{rule: `{"type": "number"}`, before: "5", typed: "1,5", want: "error: “1,5” is not a number such as 12 or -1.5."},
		{rule: `{"type": "number"}`, before: "5", typed: "many", want: "error: “many” is not a number such as 12 or -1.5."},
		{rule: `{"type": "boolean"}`, before: "true", typed: "", want: "none"},
		{rule: `{"type": "boolean"}`, required: "m", before: "true", typed: "", want: "error: A value is required."},
		{rule: `{"enum": ["a", null]}`, required: "m", before: `"a"`, typed: "", want: "null"},
		{rule: `{"enum": ["a", ""]}`, before: `"a"`, typed: "", want: `""`},
		{rule: `{"enum": ["a"]}`, before: `"a"`, typed: "", want: "none"},
		{rule: `{"type": "array"}`, before: "[1]", typed: "", want: "none"},
		{rule: `{"type": ["integer", "boolean"]}`, before: "5", typed: "", want: "none"},
		{rule: `{"type": ["integer", "string"]}`, before: `"5"`, typed: "", want: `""`},
		{rule: `{"type": ["integer", "string"]}`, before: `"5"`, typed: "6", want: `"6"`},
		{rule: `{}`, before: "5", typed: "", want: "none"},
		{rule: `{}`, before: `"a"`, typed: "", want: `""`},
		{rule: `{}`, before: "", typed: "true", want: "true"},
	}
	var texts []string
	for _, test := range tests {
		required := "[]"
		if test.required != "" {
			required = fmt.Sprintf("[%q]", test.required)
		}
		before, typed := test.before, fmt.Sprintf("%q", test.typed)
		if before != "" {
			before = `, "before": ` + before
		}
		texts = append(texts, `{"schema": {"required": `+required+`, "properties": {"m": `+test.rule+`}}, "typed": `+typed+before+`}`)
	}
	for i, got := range inBrowser(t, `text => {
		const {schema: rules, typed, before} = json.parse(text);
		const field = schema.fieldOf(schema.shapeOf("c", rules, "id", []), "m");
		return json.stringify(schema.valueOf(field, typed, before)) || "none";
	}`, texts) {
		if got != tests[i].want {
			t.Errorf("%s, %s, is %s, want %s", texts[i], tests[i].required, got, tests[i].want)
		}
	}
}

// TestDifference compares random records. The patch that the page sends must make one
// of the other when the server applies it, and must not touch what is equal.
func TestDifference(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"title", "a/b", "a~b", "~1", "__proto__", "constructor", "toString", "", "0", "10", "_", "café", "\u202erlo", `q"uote\`}
	var value func(depth int) string
	object := func(depth, most int) string {
		var members []string
		for _, i := range random.Perm(len(names))[:random.IntN(most)] {
			name, err := json.Marshal(names[i])
			if err != nil {
				t.Fatal(err)
			}
			members = append(members, string(name)+":"+value(depth+1))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	value = func(depth int) string {
		switch kind := random.IntN(8); {
		case kind < 3:
			return numbers[random.IntN(len(numbers))]
		case kind == 3:
			return []string{"null", "true", "false", `""`}[random.IntN(4)]
		case kind == 4 && depth < 3:
			return object(depth, 4)
		case kind == 5 && depth < 3:
			return "[" + value(depth+1) + "," + value(depth+1) + "]"
		}
		return fmt.Sprintf(`"text %d \u0000\ud83d\ude00"`, random.IntN(3))
	}
	type pair struct{ from, to string }
	var pairs []pair
	var texts []string
	for range 500 {
		p := pair{object(0, len(names)), object(0, len(names))}
		pairs, texts = append(pairs, p), append(texts, "["+p.from+","+p.to+"]")
	}
	decode := func(text string) (v map[string]any) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return v
	}
	patches := inBrowser(t, `text => json.stringify(json.difference(...json.parse(text)))`, texts)
	for i, patch := range patches {
		ops, err := jsonpatch.Parse(jsontext.Value(patch))
		if err != nil {
			t.Fatalf("%s: %v", patch, err)
		}
		changed, _, err := jsonpatch.Apply(jsontext.Value(pairs[i].from), ops)
		if err != nil {
			t.Fatalf("%s of %s: %v", patch, pairs[i].from, err)
		}
		from, to, got := decode(pairs[i].from), decode(pairs[i].to), decode(string(changed))
		if !reflect.DeepEqual(got, to) {
			t.Errorf("%s\nbecomes %s\nwith    %s\nwant    %s", pairs[i].from, changed, patch, pairs[i].to)
		}
		differ := 0
		for _, name := range names {
			old, hadIt := from[name]
			now, hasIt := to[name]
			isSame := hadIt == hasIt && reflect.DeepEqual(old, now)
			if !isSame {
				differ++
			}
			touched := slices.ContainsFunc(ops, func(op jsonpatch.Operation) bool { return op.Path[0] == name })
			if scalar := !strings.ContainsAny(fmt.Sprintf("%T", old), "[{"); isSame && scalar && touched {
				t.Errorf("%s touches %q, which is the same", patch, name)
			}
		}
		if len(ops) < differ {
			t.Errorf("%s has %d operations for %d members", patch, len(ops), differ)
		}
	}
}
