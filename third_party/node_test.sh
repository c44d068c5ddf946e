#!/bin/sh
# node_test.sh FILE: runs a file of Node's tests as a test of Bazel. Modules are found by their paths in the runfiles: the
# links there lead into the tree, where a module would also find files that the test's rule does not name.
export NODE_OPTIONS='--preserve-symlinks --preserve-symlinks-main'
exec node --test-reporter=spec --test-reporter-destination=stdout \
  --test-reporter=junit --test-reporter-destination="$XML_OUTPUT_FILE" "$PWD/$1"
