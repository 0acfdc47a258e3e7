package query

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode"
)

// Limits of a pattern. The time to match is proportional to the lengths of the text and
// the compiled program. Matching cannot be interrupted.
const (
	maxPattern = 256 // bytes
	maxProgram = 500 // instructions
)

// A pattern is the operand of like: a regular expression in RE2's syntax that
// ignores case and may match anywhere in a text.
type pattern struct {
	literal []byte // the folded pattern, if it is plain text
	re      *regexp.Regexp
	program int // instructions
}

// compilePattern compiles the value of the parameter called name. The error is an *Error.
func compilePattern(name, s string) (*pattern, error) {
	if len(s) > maxPattern {
		return nil, Errorf(name, "a pattern has at most %d bytes", maxPattern)
	}
	parsed, err := syntax.Parse(s, syntax.Perl|syntax.FoldCase)
	if err != nil {
		detail := "this is not a regular expression in RE2 syntax"
		if e, ok := err.(*syntax.Error); ok {
			detail += fmt.Sprintf(": %s, %q", e.Code, e.Expr)
		}
		return nil, Errorf(name, "%s", detail)
	}
	parsed = parsed.Simplify()
	if parsed.Op == syntax.OpEmptyMatch || parsed.Op == syntax.OpLiteral && ignoresCase(parsed) {
		return &pattern{literal: AppendFolded([]byte{}, []byte(string(parsed.Rune)))}, nil
	}
	program, err := syntax.Compile(parsed)
	if err == nil && len(program.Inst) <= maxProgram {
		if re, err := regexp.Compile("(?i)" + s); err == nil {
			return &pattern{re: re, program: len(program.Inst)}, nil
		}
	}
	return nil, Errorf(name, "this pattern is too costly: remove repetitions like {500}")
}

// ignoresCase reports whether a literal matches without regard to case. The flag (?-i) in a
// pattern turns that off.
func ignoresCase(literal *syntax.Regexp) bool {
	return literal.Flags&syntax.FoldCase != 0 ||
		!slices.ContainsFunc(literal.Rune, func(r rune) bool { return unicode.SimpleFold(r) != r })
}
