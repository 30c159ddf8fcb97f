package main

import (
	"context"
	"fmt"
	"strings"

	"mbusproxy/bench/internal/rig"
)

// dynSelector is true for every message: what is measured is the cost of evaluating it.
const dynSelector = "(t.data->'n') is not null"

// dynForms are how the selector of dyn_consume is given: as a literal it becomes part of the statement, as
// a parameter it is read when the statement runs.
var dynForms = []string{"literal", "parameter"}

func dynCellName(form, mode string) string { return "dyn/" + form + "/" + mode }

// dynProtocols are those that can give the selector in that form: the simple one has no parameters.
func dynProtocols(form string) []string {
	if form == "parameter" {
		return []string{"prepared"}
	}
	return []string{"simple", "prepared"}
}

// dynCells compare dyn_consume with consume, both through the proxy.
func (b *bench) dynCells() []*cell {
	var cells []*cell
	for _, form := range dynForms {
		for _, mode := range dynProtocols(form) {
			cells = append(cells, b.dynCell(form, mode))
		}
	}
	return cells
}

func (b *bench) dynCell(form, mode string) *cell {
	script := fmt.Sprintf("select * from mbus4.dyn_consume('%s', :selector);", queueName)
	if form == "literal" {
		script = fmt.Sprintf("select * from mbus4.dyn_consume('%s', '%s');", queueName, strings.ReplaceAll(dynSelector, "'", "''"))
	}
	c := &cell{name: dynCellName(form, mode)}
	for _, x := range []struct{ name, script string }{{"consume", plain.ours.consume(1)}, {"dyn_consume", script}} {
		arm1 := &consumer{side: b.ours(plain), batch: 1, rate: firstRateOne / 2, script: x.script}
		c.arms = append(c.arms, arm{name: x.name, run: func(ctx context.Context) (sample, error) {
			return b.consume(ctx, arm1, mode, 8, b.opt.seconds)
		}})
	}
	return c
}

func (r *report) dynTable(b *strings.Builder) {
	rows := [][]string{{"Selector", "Protocol", "consume", "dyn_consume", "dyn_consume / consume"}}
	for _, c := range r.group("dyn") {
		row := []string{c.part(1), c.part(2)}
		if c.err != nil {
			rows = append(rows, append(row, "**"+c.err.Error()+"**"))
			continue
		}
		rows = append(rows, append(row,
			fmt.Sprintf("%.0f", c.tps("consume")), fmt.Sprintf("%.0f", c.tps("dyn_consume")), rig.Spread(c.ratios("dyn_consume", "consume"))))
	}
	if len(rows) == 1 {
		return
	}
	fmt.Fprintf(b, "## dyn_consume\n\nOne message at a time, 8 clients, both through the proxy, with a selector that every message meets:\n`%s`.\n\n", dynSelector)
	rig.Table(b, 2, rows)
}
