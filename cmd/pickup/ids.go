package main

import (
	"pickup/internal/database"
	"pickup/internal/schema"
)

// An idConvention says how records are known where the schema has no word on
// it: serve, check and schema take it.
type idConvention struct {
	IDs     string `name:"ids" enum:"auto,number,uuid,short" default:"auto" variable:"PICKUP_IDS" placeholder:"KIND" help:"How ids of new records are made where the schema has no x-id: auto, number, uuid or short ($PICKUP_IDS; ${default})."`
	IDField string `name:"id-field" default:"id" variable:"PICKUP_ID_FIELD" placeholder:"NAME" help:"The member that carries a record's id where the schema has no x-id-field ($PICKUP_ID_FIELD; ${default})."`
}

// options returns the engine's options for the rules of schema.
func (c idConvention) options(rules *schema.Schema) database.Options {
	return database.Options{Schema: rules, IDs: schema.IDKind(c.IDs), IDMember: c.IDField}
}
