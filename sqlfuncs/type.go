package sqlfuncs

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
	Hstore
	JSONB
	Double
	Interval
	Message     // the composite type mbus4.qt_model
	WorkMessage // the composite type mbus4.work_message
	Semaphore   // the row type of the table mbus4.semaphore
	Reason      // the composite type mbus4.reason
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
	case Hstore:
		return "hstore"
	case JSONB:
		return "jsonb"
	case Double:
		return "double precision"
	case Interval:
		return "interval"
	case Semaphore:
		return "mbus4.semaphore"
	case Reason:
		return "mbus4.reason"
	case WorkMessage:
		return "mbus4.work_message"
	case Message:
		return "mbus4.qt_model"
	}
	return "unknown"
}

// Composite reports whether the type is a row.
func (t Type) Composite() bool {
	return t == Message || t == WorkMessage || t == Semaphore || t == Reason
}

// SQL returns the type's name for use in a cast. It does not depend on search_path; hstore's
// schema, already quoted, must be given since the extension may live anywhere.
func (t Type) SQL(hstoreSchema string) string {
	switch t {
	case Text:
		return "pg_catalog.text"
	case Hstore:
		return hstoreSchema + ".hstore"
	case Void:
		return "pg_catalog.void"
	default:
		return t.String()
	}
}
