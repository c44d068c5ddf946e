// Checks metrics in Prometheus's text format as `promtool check metrics` does, with the same parser and the same rules.
// (promtool takes minutes to build, because it links all of Prometheus's service discovery.)
//
// Reads the metrics from standard input. Exits with 0 if it finds no fault, with 1 if the metrics cannot be parsed, and
// with 3 if they break a rule. It prints each broken rule to standard error.
package main

import (
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

func main() {
	problems, err := promlint.New(os.Stdin).Lint()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, problem := range problems {
		fmt.Fprintln(os.Stderr, problem.Metric, problem.Text)
	}
	if len(problems) > 0 {
		os.Exit(3)
	}
}
