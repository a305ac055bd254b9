package store

import "bellhop/internal/reseal"

// SealedColumns returns the columns of the broker's tables that hold sealed values.
func SealedColumns() []reseal.Column {
	return []reseal.Column{
		{Table: "keycheck", Name: "sealed", Key: "id"},
		{Table: "meta", Name: "value", Key: "name", Row: sessionKeyRow, Base64: true},
		{Table: "meta", Name: "value", Key: "name", Row: notificationKeyRow, Base64: true},
		{Table: "hosts", Name: "password", Key: "id"},
		{Table: "hosts", Name: "previous_password", Key: "id"},
		{Table: "tasks", Name: "agent_password", Key: "id"},
		{Table: "tasks", Name: "previous_password", Key: "id"},
		{Table: "tasks", Name: "webhook_secret", Key: "id"},
		{Table: "forge_tokens", Name: "token", Key: "id"},
		{Table: "second_factors", Name: "secret", Key: "user_id"},
	}
}
