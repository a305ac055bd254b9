// Package activity tracks programs that the host does not run itself: programs that a
// person started in a terminal of a workspace report by hooks what they do. A program
// that is silent for long while it works or waits counts as idle.
//
//	        first request           prompt
//	none ────────────────► idle ◄──────────► busy
//	  ▲                     │ ▲   stop, silence │
//	  └── last program ends ┘ └─────────────────┘
package activity
