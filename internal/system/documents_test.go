package system

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pickup/internal/tools/servertest"
)

// TestDocumentsLead checks that links in documents lead to files that exist,
// and to headings that they have.
func TestDocumentsLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^):]*))?\)`)
	for _, name := range servertest.Documents(t, "*.md", "docs/*.md", "examples/*/README.md",
		"server/README.md", "filestore/README.md", "etcdstore/README.md", "internal/tools/*/README.md",
		"docs/page/README.md", "server/testdata/README.md", "server/testdata/compat/README.md", "filestore/document/testdata/golden/README.md") {
		for _, l := range link.FindAllStringSubmatch(servertest.Manual(t, name), -1) {
			target := name
			if l[1] != "" {
				target = filepath.Join(filepath.Dir(name), l[1])
			}
			if _, err := os.Stat(filepath.Join("../..", target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, l[1])
			} else if l[2] != "" && !slices.Contains(anchors(servertest.Manual(t, target)), l[2]) {
				t.Errorf("%s links to a heading %q that %s does not have", name, l[2], target)
			}
		}
	}
}

// anchors returns the anchors of a document's headings, as GitHub makes them.
func anchors(text string) []string {
	var names []string
	for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(h[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}
