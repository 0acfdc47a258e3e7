package filestore

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Names that have a meaning of their own, and names that some systems cannot have.
var (
	takenName = regexp.MustCompile(`(?i)^(db|package|pickup)$|\.schema$|\.conflict-`)
	oddName   = regexp.MustCompile(`(?i)^$|^\.|[\x00-\x1f\x7f/\\:*?"<>|]|^(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(\.|$)|[. ]$`)
)

// refusedName returns why no file of a folder can have a member of that name, or "".
func refusedName(member string) string {
	switch {
	case takenName.MatchString(member):
		return "a file of this name has another meaning"
	case oddName.MatchString(member), len(member) > 200, !utf8.ValidString(member):
		return "some systems cannot have a file of this name"
	}
	return ""
}

// isOneName reports whether a and b are one name on a system that does not tell cases, or two
// spellings of a character (é is one code point or two), apart.
func isOneName(a, b string) bool { return strings.EqualFold(norm.NFC.String(a), norm.NFC.String(b)) }

// MemberOf returns the name of the member that a file of a folder has, "" if it has none.
func MemberOf(path string) string {
	if member, ok := strings.CutSuffix(filepath.Base(path), ".json"); ok && refusedName(member) == "" {
		return member
	}
	return ""
}

// IsFolder reports whether path is a directory whose files are a database. One that is named
// like a file is what Docker makes of a missing file.
func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() && filepath.Ext(path) != ".json"
}
