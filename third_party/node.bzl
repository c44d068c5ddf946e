"""A rule for tests that are written for Node.js."""

def node_test(name, data, size = "medium", **kwargs):
    """Defines the test NAME.mjs.

    Args:
      name: the name of the file, without its ending.
      data: the files that the test imports, runs and reads.
      size: the size of the test. The time limit of this size must exceed a minute: after a minute, a hanging test fails
        by itself with an error that explains the hang.
      **kwargs: passed on to the test.
    """

    # Uses the rule that is built into Debian 12's Bazel, because Debian has no package of rules_shell.
    # buildifier: disable=native-sh-test
    native.sh_test(
        name = name,
        size = size,
        srcs = ["//third_party:node_test.sh"],
        args = ["$(rootpath %s.mjs)" % name],
        data = data + [
            name + ".mjs",
            "@machine//:machine",
        ],
        **kwargs
    )
