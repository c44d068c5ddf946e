// The version of promtool that deploy/install builds for the tests of the alerts.
module promtool

go 1.25.0

require github.com/prometheus/prometheus v0.310.0
