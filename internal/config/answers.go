package config

import (
	"regexp"
	"strings"

	"pickup/server/envelope"
)

// Answers is the form of lists and records. In a configuration file, Answers is the table
// answer.
type Answers struct {
	List   string `name:"answer-list" variable:"PICKUP_ANSWER_LIST" placeholder:"NAME" help:"Send a list as this field of an object, such as data."`
	Total  string `name:"answer-total" variable:"PICKUP_ANSWER_TOTAL" placeholder:"PATH" help:"With --answer-list: have the number of all records here, such as meta.total."`
	Record string `name:"answer-record" variable:"PICKUP_ANSWER_RECORD" placeholder:"NAME" help:"Send a record as this field of an object, and accept bodies in this form, too."`
}

var fieldPath = regexp.MustCompile(`^([\w$@-]+(\.[\w$@-]+)*)?$`)

// Form returns the form of answers, nil for the plain form.
func (a Answers) Form() (*envelope.Form, error) {
	first, _, _ := strings.Cut(a.Total, ".")
	switch {
	case a == Answers{}:
		return nil, nil
	case !fieldPath.MatchString(a.List) || !fieldPath.MatchString(a.Record) || strings.Contains(a.List+a.Record, "."):
		return nil, Usagef("--answer-list and --answer-record are the name of a field, such as data")
	case !fieldPath.MatchString(a.Total) || first != "" && (a.List == "" || first == a.List):
		return nil, Usagef("--answer-total is the path of a field next to --answer-list, such as meta.total")
	}
	return &envelope.Form{List: a.List, Total: a.Total, Record: a.Record}, nil
}
