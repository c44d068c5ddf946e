"""Tests in Node.js."""

def node_test(name, data, size = "medium", **kwargs):
    """The test NAME.mjs.

    Args:
      name: the file's name.
      data: what the test imports, runs and reads.
      size: longer than a test's own hang bound of a minute, so that this one explains itself.
      **kwargs: passed on to the test.
    """

    # Debian 12's Bazel has this rule built in, and rules_shell is not packaged.
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
