"""Rules that define the library and the test of a unit: a header, its source file, and its test."""

load("@rules_cc//cc:defs.bzl", "cc_library", "cc_test")

# Includes precompiled headers.
def _include(precompiled):
    return ["-include", "$(BINDIR)/third_party/precompiled/%s.h" % precompiled]

def unit(
        name,
        deps = [],
        test_deps = [],
        test_size = "small",
        test_data = [],
        test_tags = [],
        debian12_source = None,
        **kwargs):
    """Defines the library of NAME.h and NAME.cc, and the test of NAME_test.cc if this file exists.

    Args:
      name: the name of the files, without endings.
      deps: the targets whose headers the library, and perhaps the test, includes.
      test_deps: further targets whose headers only the test includes.
      test_size: the size of the test.
      test_data: the files that the test reads.
      test_tags: the tags of the test.
      debian12_source: the source file that replaces NAME.cc in a build with --config=debian12.
      **kwargs: passed on to the library.
    """
    srcs = native.glob([name + ".cc"], allow_empty = True)
    if debian12_source:
        srcs = select({
            "//third_party:debian12": [debian12_source],
            "//conditions:default": srcs,
        })
    cc_library(
        name = name,
        srcs = srcs,
        hdrs = native.glob([name + ".h"], allow_empty = True),
        copts = _include("libraries"),
        # Without this option, Bazel would also build a shared library, which nothing uses.
        linkstatic = True,
        deps = deps + ["//third_party/precompiled:libraries"],
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

def sql_files(name, srcs):
    """Defines the library of the header NAME.h, which has the text of each file: kLogV1Sql for log_v1.sql.

    Args:
      name: the name of the header, without ending.
      srcs: the files of SQL.
    """
    constants = {src: "k" + src.replace(".", "_").title().replace("_", "") for src in srcs}
    native.genrule(
        name = name + "_header",
        srcs = srcs,
        outs = [name + ".h"],
        cmd = "{ %s; } > $@" % "; ".join([
            "echo 'inline constexpr char %s[] = R\"sql('; cat $(location %s); echo ')sql\";'" % (constants[src], src)
            for src in srcs
        ]),
    )
    cc_library(
        name = name,
        hdrs = [name + ".h"],
    )

def unit_test(name, deps, size = "small", data = [], **kwargs):
    """Defines the test NAME.cc, which need not belong to one unit."""
    cc_test(
        name = name,
        size = size,
        srcs = [name + ".cc"],
        copts = _include("libraries_for_tests"),
        # With Debian 12's own libraries, the test must run again if a Debian package changes.
        data = data + select({
            "//third_party:debian12": ["@machine//:debian_packages"],
            "//conditions:default": [],
        }),
        deps = deps + [
            "//third_party:gtest",
            "//third_party/precompiled:libraries_for_tests",
        ],
        **kwargs
    )
