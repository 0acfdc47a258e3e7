package schema

// A Fault is one thing that is wrong with a value.
type Fault struct {
	Pointer string // RFC 6901, into the value that was checked
	Detail  string // one sentence: what is wrong, and what would be right
}

func (f Fault) String() string {
	if f.Pointer == "" {
		return f.Detail
	}
	return f.Pointer + ": " + f.Detail
}
