package httpx

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// Entity tags (RFC 9110 section 8.8.3) are strong: equal tags mean equal bytes.

// Tag returns the tag of an answer with the given bytes.
func Tag(answer []byte) string {
	sum := sha256.Sum256(answer)
	return QuoteTag(sum)
}

// QuoteTag returns the tag of what has a hash.
func QuoteTag(sum [sha256.Size]byte) string {
	var tag [22]byte
	tag[0], tag[21] = '"', '"'
	base64.RawURLEncoding.Encode(tag[1:21], sum[:15])
	return string(tag[:])
}

// MatchTag returns the tag in the values of If-Match or If-None-Match that identifies
// what has the given tag, or "". The suffix of a compressed answer makes no difference:
// the client knows the same content. * matches any tag. If weak is set, tags that are
// marked as weak count too.
func MatchTag(list []string, tag string, weak bool) string {
	for _, value := range list {
		if strings.TrimSpace(value) == "*" {
			return tag
		}
		for value != "" {
			sent, rest, ok := cutTag(value)
			if !ok {
				break
			}
			strong, isWeak := strings.CutPrefix(sent, "W/")
			if (strong == tag || plainTag(strong) == tag) && (weak || !isWeak) {
				return strong
			}
			value = rest
		}
	}
	return ""
}

// cutTag returns the first tag of a list, and the rest. It reports false if there is none, or
// something other than a comma follows.
func cutTag(list string) (tag, rest string, ok bool) {
	list = strings.TrimLeft(list, " \t,")
	quoted := strings.TrimPrefix(list, "W/")
	if !strings.HasPrefix(quoted, `"`) {
		return "", "", false
	}
	end := strings.IndexByte(quoted[1:], '"')
	if end < 0 {
		return "", "", false
	}
	n := len(list) - len(quoted) + end + 2
	rest = strings.TrimLeft(list[n:], " \t")
	return list[:n], rest, rest == "" || rest[0] == ','
}

// IsTagList reports whether values of If-Match or If-None-Match are well-formed: * alone, or
// lists of tags.
func IsTagList(values []string) bool {
	if len(values) == 1 && strings.TrimSpace(values[0]) == "*" {
		return true
	}
	for _, value := range values {
		for ok := true; strings.Trim(value, " \t,") != ""; {
			_, value, ok = cutTag(value)
			if !ok {
				return false
			}
		}
	}
	return true
}
