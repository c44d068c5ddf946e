// Checks metrics in Prometheus's text format as `promtool check metrics` does: with the same parser and the same rules.
// (promtool itself links every service that Prometheus can discover targets with, and takes minutes to build.)
//
// Reads the metrics from standard input. Exits with 0 if there is nothing to report, with 1 if they cannot be parsed, and
// with 3 if a rule is broken, which it reports on standard error.
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
