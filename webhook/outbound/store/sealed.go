package store

import "bellhop/internal/reseal"

// SealedColumns returns the columns of endpoints that hold sealed values.
func SealedColumns() []reseal.Column {
	return []reseal.Column{
		{Table: endpointTable, Name: "secret", Key: "id"},
		{Table: endpointTable, Name: "previous_secret", Key: "id"},
	}
}
