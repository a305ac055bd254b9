package plans

import (
	"encoding/json"
	"fmt"
	"strings"
)

// explanation is what auto_explain reports of a statement.
type explanation struct {
	Query string `json:"Query Text"`
	Plan  node   `json:"Plan"`
}

type node struct {
	Type      string  `json:"Node Type"`
	Operation string  `json:"Operation"`
	Relation  string  `json:"Relation Name"`
	Index     string  `json:"Index Name"`
	Rows      float64 `json:"Actual Rows"` // of one loop
	Loops     float64 `json:"Actual Loops"`
	Filtered  float64 `json:"Rows Removed by Filter"`
	Rechecked float64 `json:"Rows Removed by Index Recheck"`
	Plans     []node  `json:"Plans"`
}

func (w *Watch) notice(message string) {
	_, plan, found := strings.Cut(message, "plan:\n")
	if !strings.HasPrefix(message, "duration:") || !found {
		return
	}
	var e explanation
	if err := json.Unmarshal([]byte(plan), &e); err != nil {
		w.add(message, []string{"its plan cannot be read: " + err.Error()})
		return
	}
	var faults []string
	read := 0.0
	e.Plan.visit(func(n *node) {
		if !w.grows(n.Relation) || n.Loops == 0 {
			return
		}
		if n.Type == "Seq Scan" {
			faults = append(faults, fmt.Sprintf("it scans the whole table %s", n.Relation))
		}
		if strings.HasSuffix(n.Type, "Scan") {
			read += n.read()
		}
	})
	w.add(e.Query, append(faults, tooMuch(read, e.Plan.returned())...))
}

func (n *node) visit(see func(*node)) {
	see(n)
	for i := range n.Plans {
		n.Plans[i].visit(see)
	}
}

// read is the number of rows that a scan looked at.
func (n *node) read() float64 { return (n.Rows + n.Filtered + n.Rechecked) * n.Loops }

// returned is the number of rows that a statement returns or writes.
func (n *node) returned() float64 {
	rows := 0.0
	n.visit(func(n *node) {
		if n.Type == "ModifyTable" { // without RETURNING it returns none of what it writes
			for i := range n.Plans {
				rows = max(rows, n.Plans[i].Rows*n.Plans[i].Loops)
			}
		}
	})
	return max(rows, n.Rows*n.Loops)
}
