package schema

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pickup/internal/rawjson"
)

// email is JSON Schema's format: a mailbox of RFC 5321, section 4.1.2. The
// validator's own takes "@example.com" for one.
var email = &jsonschema.Format{Name: "email", Validate: func(v any) error {
	if s, ok := v.(string); ok {
		return checkEmail(s)
	}
	return nil
}}

// checkEmail returns what is wrong with an e-mail address, one clause.
func checkEmail(s string) error {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return errors.New("there is no @")
	}
	local, domain := s[:at], s[at+1:]
	switch {
	case local == "":
		return errors.New("nothing stands before the @")
	case domain == "":
		return errors.New("nothing stands behind the @")
	case len(local) > 64 || len(s) > 254: // RFC 5321, section 4.5.3.1
		return errors.New("it is too long")
	}
	if len(local) > 1 && local[0] == '"' && local[len(local)-1] == '"' {
		local = local[1 : len(local)-1]
		if c := strings.IndexFunc(local, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }); c >= 0 {
			return fmt.Errorf("%q may not stand between the quotes", []rune(local[c:])[0])
		}
	} else if err := checkLabels(local, "before", "!#$%&'*+-/=?^_`{|}~"); err != nil {
		return err
	}
	if ip, ok := strings.CutPrefix(domain, "["); ok {
		ip, closed := strings.CutSuffix(ip, "]")
		ip, six := strings.CutPrefix(ip, "IPv6:")
		if addr, err := netip.ParseAddr(ip); err != nil || !closed || addr.Is6() != six || addr.Zone() != "" {
			return errors.New("behind the @ is no IP address in brackets")
		}
		return nil
	}
	return checkLabels(domain, "behind", "-")
}

// checkLabels takes letters, digits and what is in others, with single dots
// between them. Domains have hyphens only inside.
func checkLabels(s, where, others string) error {
	for label := range strings.SplitSeq(s, ".") {
		switch {
		case label == "":
			return fmt.Errorf("%s the @ a dot stands without something on either side", where)
		case others == "-" && (label[0] == '-' || label[len(label)-1] == '-'):
			return fmt.Errorf("%q begins or ends with a hyphen", rawjson.Shorten(label))
		case others == "-" && len(label) > 63:
			return fmt.Errorf("%s the @ is a part that is too long", where)
		}
		for _, r := range label {
			if (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune(others, r) {
				return fmt.Errorf("%q may not stand %s the @", r, where)
			}
		}
	}
	return nil
}
