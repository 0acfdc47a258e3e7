package schema

// A Fault is one thing that is wrong with a value.
type Fault struct {
	Pointer string // RFC 6901, into the value that was judged
	Detail  string // what is wrong and what would be right, one sentence
}

func (f Fault) String() string {
	if f.Pointer == "" {
		return f.Detail
	}
	return f.Pointer + ": " + f.Detail
}
