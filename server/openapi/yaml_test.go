package openapi

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"

	"pickup/internal/rawjson"
)

// hardTexts are read as something else by some YAML when they stand plain.
var hardTexts = []string{
	"", " ", "a", "a b", "a: b", "a:", "a #b", "a#b", "#a", "- a", "-", "? a", ": a", "a\nb", "a\n\n  b\nc", "a\n", "\na", " a\nb", "a \nb ", "a\tb", "\ta\nb", "a\r\nb",
	"true", "No", "on", "y", "null", "~", "NULL", "1", "1e3", "0x1f", "0o7", "1_000", ".5", "-1", "+1", ".inf", "-.INF", ".NaN", "2026-09-14", "12:30:45", "=", "<<", "---", "...", "%YAML", "@a", "`a`", "!a", "&a", "*a", "|", ">", "'a'", `"a"`, `a\b`, "[a]", "{a}", "a, b", "a]", "a}",
	"\u007f", "\u0085", "a\u2028b", "a\u2029b\nc", "\ufeff", "a\ufffeb", "\u0000", "😀", "日本\n語", "é", "$ref", "/a/{b}", "a*/b", "__proto__", strings.Repeat("x", 1030), strings.Repeat("é", 600) + "\n", strings.Repeat("\n x", 3) + "y",
}

// TestYAML holds YAML against the JSON that it was made from: hard texts as
// names and as values, at every depth.
func TestYAML(t *testing.T) {
	for _, s := range hardTexts {
		q := string(rawjson.AppendQuote(nil, s))
		checkYAML(t, `{`+q+`:`+q+`,"b":[`+q+`,[`+q+`,[],{}],{`+q+`:[`+q+`],"z":{`+q+`:{"y":`+q+`}}}],"c":{`+q+`:[],"d":{}},"e":12345678901234567890,"f":1.50e-3,"g":[null,true,false]}`)
	}
}

func checkYAML(t *testing.T, document string) {
	t.Helper()
	text := YAML(jsontext.Value(document))
	var want, got any
	if err := json.Unmarshal([]byte(document), &want); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	// The numbers of YAML have other types in Go: JSON makes them equal.
	again, err := json.Marshal(got)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	got = nil
	if err := json.Unmarshal(again, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s\nis read from\n%s", again, text)
	}
}

// The YAML that redocly brings along agrees.
func TestYAMLInNode(t *testing.T) {
	modules, err := filepath.Abs("../testdata/clients/openapi/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	document := []byte("{")
	for _, s := range hardTexts {
		document = rawjson.AppendMember(document, s, rawjson.AppendQuote(nil, s))
	}
	document = append(document, '}')
	dir := t.TempDir()
	for name, text := range map[string][]byte{"doc.json": document, "doc.yaml": YAML(document), "read.cjs": []byte(`
		const fs = require("fs"), path = require("path"), assert = require("assert");
		const want = JSON.parse(fs.readFileSync("doc.json", "utf8"));
		for (const name of ["yaml", "js-yaml"]) {
			const lib = require(path.join(process.argv[2], name));
			assert.deepEqual((lib.load || lib.parse)(fs.readFileSync("doc.yaml", "utf8")), want, name);
		}
		console.log("all is well");
	`)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("node", "read.cjs", modules)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "all is well") {
		t.Errorf("%v: %s", err, out)
	}
}

// FuzzYAML writes any object as YAML and reads it with another implementation.
func FuzzYAML(f *testing.F) {
	for _, s := range hardTexts {
		q := string(rawjson.AppendQuote(nil, s))
		f.Add(`{` + q + `:[` + q + `,{` + q + `:` + q + `}]}`)
	}
	f.Fuzz(func(t *testing.T, document string) {
		v := jsontext.Value(document)
		if v.Kind() != '{' || !v.IsValid() || len(document) > 1000 {
			return
		}
		if strings.ContainsAny(document, "0123456789.") {
			return // how far numbers go differs
		}
		if err := v.Compact(); err != nil {
			return
		}
		checkYAML(t, string(v))
	})
}
