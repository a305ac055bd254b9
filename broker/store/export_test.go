package store

// WordKey is what each word of a user's texts begins with.
var WordKey = wordKey

// LimitSearch makes searches stop early, as if the user had many times the texts, until restore is called.
func LimitSearch() (restore func()) {
	before := bounds
	bounds = searchBounds{
		places: 100, nearTasks: 20, nearTexts: 300, terms: 2, collected: 100, perRead: 10, reads: 2,
	}
	return func() { bounds = before }
}
