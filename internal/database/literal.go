package database

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// literal returns the array as PostgreSQL's text, such as {"a","b",NULL}.
func (a *columnArray[R]) literal() (string, error) {
	elements := make([]string, len(a.rows))
	for i := range a.rows {
		element, err := elementLiteral(a.value(a.rows[i]))
		if err != nil {
			return "", err
		}
		elements[i] = element
	}
	return "{" + strings.Join(elements, ",") + "}", nil
}

var quoteElement = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// elementLiteral knows the types that columns of package table have.
func elementLiteral(value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return "NULL", nil
	case string:
		return `"` + quoteElement.Replace(v) + `"`, nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case bool:
		return strconv.FormatBool(v), nil
	case []byte:
		return `"\\x` + hex.EncodeToString(v) + `"`, nil
	case time.Time:
		return `"` + v.UTC().Format(time.RFC3339Nano) + `"`, nil
	}
	return "", fmt.Errorf("database: an array of %T has no text", value)
}
