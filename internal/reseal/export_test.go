package reseal

import (
	"context"

	"bellhop/crypto/seal"
	"bellhop/internal/database"
)

// PageThenSeal reads a page of a column, calls between, and seals the values of the page. It returns
// how many it wrote.
func PageThenSeal(ctx context.Context, db *database.DB, sealer *seal.Sealer, of Column, between func()) (int, error) {
	r := &run{db: db, sealer: sealer, of: of}
	page, err := r.page(ctx, "")
	if err != nil {
		return 0, err
	}
	between()
	written := 0
	for i := range page {
		ok, err := r.reseal(ctx, &page[i])
		if err != nil {
			return written, err
		}
		if ok {
			written++
		}
	}
	return written, nil
}
