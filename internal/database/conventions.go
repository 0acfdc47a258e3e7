package database

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"pickup/internal/schema"
	"pickup/internal/storage"
)

// conventions are the rules of a database and the settings for its ids.
type conventions struct {
	schema *schema.Schema
	member string        // Options.IDMember
	suffix string        // Options.KeySuffix
	ids    schema.IDKind // Options.IDs
	stored *storedRules  // of a shared store; nil: the store keeps none
}

// KeyOf returns the field for references to the collection with this singular, if there is no
// schema.
func (o conventions) KeyOf(singular string) string {
	return singular + cmp.Or(o.suffix, "Id")
}

// IDMember returns the name of the field with the ids of a collection's records.
func (o conventions) IDMember(collection string) string {
	return cmp.Or(o.schema.Member(collection).IDMember, o.member, schema.DefaultIDMember)
}

// IDKind returns the kind of a collection's new ids that is configured.
func (o conventions) IDKind(collection string) schema.IDKind {
	return cmp.Or(o.schema.Member(collection).IDKind, o.ids)
}

// storedRules are the rules of a database whose store keeps them.
type storedRules struct {
	text   []byte
	name   string // of the database
	series uint64 // see Snapshot.Tag; the same for equal names and texts
	err    error  // why the rules cannot be used and writes are refused
}

// under returns the conventions in force after b, a Reset batch.
func (o conventions) under(b storage.Batch) conventions {
	if o.stored != nil && bytes.Equal(b.Rules, o.stored.text) {
		return o
	}
	sum := sha256.Sum256(append(append([]byte(b.Origin), 0), b.Rules...))
	o.schema = nil
	o.stored = &storedRules{text: b.Rules, name: b.Origin, series: binary.BigEndian.Uint64(sum[:])}
	if len(b.Rules) == 0 {
		return o
	}
	rules, err := schema.Compile("rules", b.Rules)
	if err != nil {
		return o.refuse(err)
	}
	o.schema = rules.WithIDMember(o.member)
	return o
}

// refuse returns the conventions of a database whose rules cannot be used.
func (o conventions) refuse(cause error) conventions {
	stored := *o.stored
	stored.err = &storage.AdviceError{
		Err:    fmt.Errorf("%w: the rules cannot be used: %v", storage.ErrReadOnly, cause),
		Advice: fmt.Sprintf("this version cannot use the rules of the database: %v", cause),
	}
	o.schema = nil
	o.stored = &stored
	return o
}

// unusable returns why the rules cannot be used, or nil.
func (o conventions) unusable() error {
	if o.stored == nil {
		return nil
	}
	return o.stored.err
}
