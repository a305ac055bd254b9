package table

import (
	"time"
)

// Column is one column of a table whose rows are Rs.
type Column[R any] struct {
	Name   string
	Type   string       // PostgreSQL's
	Value  func(*R) any // returns the value to write; nil means NULL
	Target func(*R) any // what rows.Scan fills

	key, fixed bool
}

// Key marks a column of the primary key.
func (c Column[R]) Key() Column[R] {
	c.key = true
	return c
}

// Fixed marks a column that keeps the value of its INSERT.
func (c Column[R]) Fixed() Column[R] {
	c.fixed = true
	return c
}

// Lift turns columns of a part into columns of the whole that contains it.
func Lift[W, R any](columns []Column[R], part func(*W) *R) []Column[W] {
	lifted := make([]Column[W], len(columns))
	for i, c := range columns {
		lifted[i] = Column[W]{
			Name: c.Name, Type: c.Type, key: c.key, fixed: c.fixed,
			Value:  func(w *W) any { return c.Value(part(w)) },
			Target: func(w *W) any { return c.Target(part(w)) },
		}
	}
	return lifted
}

// Text holds a string.
func Text[R any, S ~string](name string, field func(*R) *S) Column[R] {
	return Column[R]{
		Name: name, Type: "text",
		Value:  func(r *R) any { return string(*field(r)) },
		Target: func(r *R) any { return field(r) },
	}
}

// OptionalText is NULL for "".
func OptionalText[R any, S ~string](name string, field func(*R) *S) Column[R] {
	return Column[R]{
		Name: name, Type: "text",
		Value: func(r *R) any {
			if s := *field(r); s != "" {
				return string(s)
			}
			return nil
		},
		Target: func(r *R) any { return optionalText[S]{field(r)} },
	}
}

// TextBytes holds bytes as text; nil is ”.
func TextBytes[R any, B ~[]byte](name string, field func(*R) *B) Column[R] {
	return Column[R]{
		Name: name, Type: "text",
		Value:  func(r *R) any { return string(*field(r)) },
		Target: func(r *R) any { return textBytes[B]{field(r)} },
	}
}

// OptionalTextBytes is NULL for nil.
func OptionalTextBytes[R any, B ~[]byte](name string, field func(*R) *B) Column[R] {
	c := TextBytes(name, field)
	c.Value = func(r *R) any {
		if b := *field(r); b != nil {
			return string(b)
		}
		return nil
	}
	return c
}

// Integer holds a number of 64 bits.
func Integer[R any, N ~int | ~int64](name string, field func(*R) *N) Column[R] {
	return Column[R]{
		Name: name, Type: "bigint",
		Value:  func(r *R) any { return int64(*field(r)) },
		Target: func(r *R) any { return field(r) },
	}
}

// Bool holds a truth value.
func Bool[R any](name string, field func(*R) *bool) Column[R] {
	return Column[R]{
		Name: name, Type: "boolean",
		Value:  func(r *R) any { return *field(r) },
		Target: func(r *R) any { return field(r) },
	}
}

// Bytes holds bytes; nil is NULL.
func Bytes[R any, B ~[]byte](name string, field func(*R) *B) Column[R] {
	return Column[R]{
		Name: name, Type: "bytea",
		Value: func(r *R) any {
			if b := *field(r); b != nil {
				return []byte(b)
			}
			return nil
		},
		Target: func(r *R) any { return field(r) },
	}
}

// Time holds a time, in UTC.
func Time[R any](name string, field func(*R) *time.Time) Column[R] {
	return Column[R]{
		Name: name, Type: "timestamptz",
		Value:  func(r *R) any { return field(r).UTC() },
		Target: func(r *R) any { return utcTime{field(r)} },
	}
}

// OptionalTime is NULL for nil.
func OptionalTime[R any](name string, field func(*R) **time.Time) Column[R] {
	return Column[R]{
		Name: name, Type: "timestamptz",
		Value: func(r *R) any {
			if t := *field(r); t != nil {
				return t.UTC()
			}
			return nil
		},
		Target: func(r *R) any { return optionalTime{field(r)} },
	}
}

// JSON holds a value as JSON; NULL and ” are read as the zero value.
func JSON[R, V any](name string, field func(*R) *V) Column[R] {
	return Column[R]{
		Name: name, Type: "text",
		Value:  func(r *R) any { return encode(field(r)) },
		Target: func(r *R) any { return jsonTarget[V]{field(r)} },
	}
}

// JSONList is JSON that writes empty for a list without elements.
func JSONList[R, E any](name string, empty any, field func(*R) *[]E) Column[R] {
	c := JSON(name, field)
	c.Target = func(r *R) any { return listTarget[E]{field(r)} }
	c.Value = func(r *R) any {
		if list := field(r); len(*list) > 0 {
			return encode(list)
		}
		return empty
	}
	return c
}

// JSONPointer is JSON that writes absent for nil.
func JSONPointer[R, V any](name string, absent any, field func(*R) **V) Column[R] {
	c := JSON(name, field)
	c.Value = func(r *R) any {
		if v := *field(r); v != nil {
			return encode(v)
		}
		return absent
	}
	return c
}
