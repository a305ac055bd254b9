package core

// Kinds are the names of all inputs.
func Kinds() []string {
	var names []string
	for name := range kinds {
		names = append(names, name)
	}
	return names
}
