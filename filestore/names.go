package filestore

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Names with another meaning, names refused by some systems, and names of dot files.
var (
	takenName = regexp.MustCompile(`(?i)^(db|package|pickup)$|\.schema$|\.conflict-`)
	oddName   = regexp.MustCompile(`(?i)^$|^\.|[\x00-\x1f\x7f/\\:*?"<>|]|` +
		`^(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(\.|$)|[. ]$`)
	dotName = regexp.MustCompile(`^\.(.+\.json5?)(\..+)$`) // with the name of a file, and the rest
)

// refusedName returns why no file of a folder can have a member of that name, or "".
func refusedName(member string) string {
	if takenName.MatchString(member) {
		return "a file of this name has another meaning"
	}
	if oddName.MatchString(member) || len(member) > 200 || !utf8.ValidString(member) {
		return "some systems cannot have a file of this name"
	}
	return ""
}

// isOneName reports whether a and b are equal on a system without a difference between cases, or
// between two spellings of a character (é is one code point or two).
func isOneName(a, b string) bool { return strings.EqualFold(norm.NFC.String(a), norm.NFC.String(b)) }

// MemberOf returns the name of the member in a file of a folder. It returns "" for a file that
// holds no member.
func MemberOf(path string) string {
	if member, ok := cutEnding(filepath.Base(path)); ok && refusedName(member) == "" {
		return member
	}
	return ""
}

// endings are the ends of the names of files of a folder.
var endings = []string{".json", ".json5"}

// cutEnding returns the name of a file without the ending.
func cutEnding(name string) (member string, ok bool) {
	for _, ending := range endings {
		if member, ok := strings.CutSuffix(name, ending); ok {
			return member, true
		}
	}
	return name, false
}

// IsFolder reports whether path is a directory with the files of a database. Docker makes a directory
// of a missing file, so a directory with the name of a file does not count.
func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() && !slices.Contains(endings, filepath.Ext(path))
}
