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
			value = strings.TrimLeft(value, " \t,")
			rest, isWeak := strings.CutPrefix(value, "W/")
			if !strings.HasPrefix(rest, `"`) {
				break
			}
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 {
				break
			}
			if sent := rest[:end+2]; (sent == tag || plainTag(sent) == tag) && (weak || !isWeak) {
				return sent
			}
			value = rest[end+2:]
		}
	}
	return ""
}
