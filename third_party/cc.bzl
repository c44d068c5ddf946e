"""The rules of this tree: a pair of files, its library and its test in one."""

load("@rules_cc//cc:defs.bzl", "cc_library", "cc_test")

def unit(
        name,
        deps = [],
        test_deps = [],
        test_size = "small",
        test_data = [],
        test_tags = [],
        **kwargs):
    """The library of NAME.h and NAME.cc and the test NAME_test.cc, as far as there are such files.

    Args:
      name: the files' name.
      deps: what the library includes. The test may include it too.
      test_deps: what the test includes besides.
      test_size: of the test.
      test_data: what the test reads.
      test_tags: of the test.
      **kwargs: passed on to the library.
    """
    cc_library(
        name = name,
        srcs = native.glob([name + ".cc"], allow_empty = True),
        hdrs = native.glob([name + ".h"], allow_empty = True),
        # Nobody links its shared library.
        linkstatic = True,
        deps = deps,
        **kwargs
    )
    if native.glob([name + "_test.cc"], allow_empty = True):
        unit_test(
            name = name + "_test",
            size = test_size,
            data = test_data,
            tags = test_tags,
            deps = [":" + name] + deps + test_deps,
        )

def unit_test(name, deps, size = "small", data = [], **kwargs):
    """The test NAME.cc of more than one unit."""
    cc_test(
        name = name,
        size = size,
        srcs = [name + ".cc"],
        # Debian's shared libraries are in it, though no file names them.
        data = data + ["@machine//:debian_packages"],
        deps = deps + ["//third_party:gtest"],
        **kwargs
    )
