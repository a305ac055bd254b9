// Package channel has a type that JSON lacks.
package channel

// T has it.
type T struct {
	C chan int `json:"c"`
}
