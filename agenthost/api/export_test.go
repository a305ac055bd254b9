package api

// Repeats returns what each route that changes something says of a copy of its request.
func Repeats() map[string][]string {
	all := map[string][]string{}
	for route, rule := range repeats {
		var says []string
		if rule.once {
			says = append(says, "once")
		}
		if rule.latest {
			says = append(says, "latest")
		}
		if rule.why != "" && !rule.again {
			says = append(says, rule.why)
		}
		all[route] = says
	}
	return all
}
