package sqlfuncs

// BoundHstore is a schema of the engine's own that holds the functions and operators of hstore which texts of the
// engine use, and types over that of hstore. They were bound to the extension's objects when they were made, so nobody
// who renames schemas can put something else in their place: see docs/security.md.
const BoundHstore = "mbus4_hstore"

// HstoreType is the domain there over the type hstore.
const HstoreType = BoundHstore + ".hstore"

// Type is the type of a parameter or of a result.
type Type uint8

// The types that occur in the catalogue.
const (
	Void Type = iota
	Text
	Integer
	BigInt
	Boolean
	Timestamp
	Interval
	Hstore
	JSONB
	Double
	Message       // the composite type mbus4.qt_model
	WorkMessage   // the composite type mbus4.work_message
	Semaphore     // the row type of the table mbus4.semaphore
	Reason        // the composite type mbus4.reason
	LeasedMessage // the composite type mbus4.leased
	JSONMessage   // the composite type mbus4.json_message
	// LeaseOrMessage is the type of a parameter that is a Text or a Message: the server decides, by
	// functions that are overloaded.
	LeaseOrMessage
)

// String returns the name Postgres shows for the type.
func (t Type) String() string {
	switch t {
	case Void:
		return "void"
	case Text:
		return "text"
	case Integer:
		return "integer"
	case BigInt:
		return "bigint"
	case Boolean:
		return "boolean"
	case Timestamp:
		return "timestamp without time zone"
	case Interval:
		return "interval"
	case Hstore:
		return "hstore"
	case JSONB:
		return "jsonb"
	case Double:
		return "double precision"
	case Semaphore:
		return "mbus4.semaphore"
	case Reason:
		return "mbus4.reason"
	case LeasedMessage:
		return "mbus4.leased"
	case JSONMessage:
		return "mbus4.json_message"
	case LeaseOrMessage:
		return "text or mbus4.qt_model"
	case WorkMessage:
		return "mbus4.work_message"
	case Message:
		return "mbus4.qt_model"
	}
	return "unknown"
}

// Composite reports whether the type is a row.
func (t Type) Composite() bool {
	return t == Message || t == WorkMessage || t == Semaphore || t == Reason || t == LeasedMessage || t == JSONMessage
}

// HasColumn reports whether a row of a leased message has a column of that name, which in SQL comes
// before the row where both have one name: select lease from mbus4.lease('q'). Of other types it is
// not known.
func (t Type) HasColumn(name string) bool {
	return t == LeasedMessage && (name == "lease" || name == "attempt" || name == "leased_until")
}

// SQL returns the type's name for use in a cast. It depends neither on search_path nor on where
// hstore is: see BoundHstore. It is "" for LeaseOrMessage, which is cast to nothing.
func (t Type) SQL() string {
	switch t {
	case Text:
		return "pg_catalog.text"
	case Hstore:
		return HstoreType
	case Void:
		return "pg_catalog.void"
	case Interval:
		return "pg_catalog.interval"
	case JSONB:
		return "pg_catalog.jsonb"
	case LeaseOrMessage:
		return ""
	default:
		return t.String()
	}
}
