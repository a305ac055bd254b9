package sizing

import (
	"fmt"
	"slices"
	"strings"

	"bellhop/protocol"
)

// benchTable is one table of "bellhop bench", with the line about the machine that precedes it.
type benchTable struct {
	machine string
	rows    [][]string
}

const (
	benchHeader = "| what | figure | beside |"
	beginMarker = "<!-- figures:"
	endMarker   = "<!-- end of figures"
)

// ReadFigures reads the figures from what "bellhop bench" printed, or from docs/benchmarks.md. A table that is not
// there is left out; of a table that is there every figure is needed. name is the file's, for errors.
func ReadFigures(name, content string) (Figures, error) {
	found, err := readTables(name, content)
	if err != nil {
		return Figures{}, err
	}
	f := Figures{map[string]float64{}, map[string]string{}}
	for _, one := range figures {
		table, ok := found[one.section]
		if !ok {
			continue
		}
		text := one.in(table)
		if text == "" && one.section == agentTable {
			continue // a run measures the agents that are installed
		}
		if text == "" {
			return Figures{}, &protocol.Error{
				Code:    protocol.CodeInvalid,
				Message: fmt.Sprintf("%s: the table %q has no figure %s", name, one.section, one.name),
				Hint:    "Give the output of 'bellhop bench' of this version, unchanged.",
			}
		}
		if f.Values[one.name], err = one.parse(text); err != nil {
			return Figures{}, fmt.Errorf("%s: %w", name, err)
		}
		f.From[one.name] = name
	}
	if len(f.Values) == 0 {
		return Figures{}, &protocol.Error{
			Code: protocol.CodeInvalid, Message: name + " has no figures that the simulation uses",
			Hint: "Write them with: bellhop bench > " + name,
		}
	}
	return f, nil
}

// in returns the value's text; "" if the table does not have it.
func (f figure) in(table benchTable) string {
	source := table.machine
	if f.cell > 0 {
		i := slices.IndexFunc(table.rows, func(cells []string) bool { return f.row.MatchString(cells[0]) })
		if i < 0 || f.cell >= len(table.rows[i]) {
			return ""
		}
		source = table.rows[i][f.cell]
	}
	match := f.value.FindStringSubmatch(source)
	if match == nil {
		return ""
	}
	return match[1]
}

// readTables returns the tables by their titles. In a document they stand between two markers.
func readTables(name, content string) (map[string]benchTable, error) {
	if _, after, ok := strings.Cut(content, beginMarker); ok {
		content, _, _ = strings.Cut(after, endMarker)
	}
	all, known := map[string]benchTable{}, tables()
	var title, machine string
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		heading, isHeading := strings.CutPrefix(line, "### ")
		switch {
		case isHeading:
			title = heading
		case strings.Contains(line, " cores, "):
			machine = line
		case strings.HasPrefix(line, benchHeader) && !slices.Contains(known, title):
			return nil, &protocol.Error{
				Code: protocol.CodeInvalid, Message: fmt.Sprintf("%s: the figures %q are unknown", name, title),
				Hint: "The simulation knows: " + strings.Join(known, "; ") + ".",
			}
		case strings.HasPrefix(line, benchHeader):
			all[title] = benchTable{machine: machine}
		case strings.HasPrefix(line, "| "):
			if table, ok := all[title]; ok {
				table.rows = append(table.rows, cells(line))
				all[title] = table
			}
		}
	}
	return all, nil
}

func cells(row string) []string {
	list := strings.Split(strings.Trim(row, "|"), "|")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}
