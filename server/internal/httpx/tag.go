package httpx

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// Entity tags (RFC 9110 section 8.8.3) are strong: equal tags mean equal bytes.

// Tag returns the tag of a response body.
func Tag(body []byte) string {
	return QuoteTag(sha256.Sum256(body))
}

// QuoteTag returns a hash as a tag.
func QuoteTag(sum [sha256.Size]byte) string {
	var tag [22]byte
	tag[0], tag[21] = '"', '"'
	base64.RawURLEncoding.Encode(tag[1:21], sum[:15])
	return string(tag[:])
}

// MatchTag returns the first tag of a list that matches the given tag, or "". The list has the
// values of If-Match or If-None-Match. The suffix of compressed responses makes no difference,
// because the content is the same. * matches any tag. If weak is set, weak tags match, too.
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

// cutTag returns the first tag of a list, and the rest. It reports false if there is no tag, or
// if no comma follows.
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

// IsTagList reports whether the values of If-Match or If-None-Match are well-formed: a single
// *, or lists of tags.
func IsTagList(values []string) bool {
	if len(values) == 1 && strings.TrimSpace(values[0]) == "*" {
		return true
	}
	for _, value := range values {
		for strings.Trim(value, " \t,") != "" {
			_, rest, ok := cutTag(value)
			if !ok {
				return false
			}
			value = rest
		}
	}
	return true
}
