#!/bin/sh
# node_test.sh FILE: runs a file of Node.js tests as a Bazel test. The options make Node.js look up modules by their
# paths in the runfiles, without resolving symbolic links. Behind the links, in the tree, a module would also find files
# that the test's rule does not name.
export NODE_OPTIONS='--preserve-symlinks --preserve-symlinks-main'
exec node ${TESTBRIDGE_TEST_ONLY:+--test-name-pattern="$TESTBRIDGE_TEST_ONLY"} \
  --test-reporter=spec --test-reporter-destination=stdout \
  --test-reporter=junit --test-reporter-destination="$XML_OUTPUT_FILE" "$PWD/$1"
