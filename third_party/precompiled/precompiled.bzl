"""A rule that precompiles the headers of libraries, which halves the time in which most files compile."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def precompiled(name, textual_hdrs = [], deps = [], **kwargs):
    """Precompiles the headers that NAME.cc includes. A file uses the result with `-include` and NAME.h.

    A compiler uses the result only for files with the same options. `.bazelrc` has options of its own for files whose
    names end in "_test.cc" or "_tests.cc": tests, and the precompiled headers of tests.

    Args:
      name: the name of the library, whose headers are NAME.h and its precompiled form, NAME.h.gch.
      textual_hdrs: the files of this package that NAME.cc includes.
      deps: the libraries whose headers are not in the package root.
      **kwargs: passed on to the library.
    """
    cc_library(
        name = name + "_compiled",
        srcs = [name + ".cc"],
        copts = ["-x", "c++-header"] + select({
            "//third_party:debian12": [],
            # Clang then instantiates templates once, and not in every file. Without the times of the headers, the result
            # is the same each time, and Bazel can use it again.
            "//conditions:default": ["-fpch-instantiate-templates", "-Xclang", "-fno-pch-timestamp"],
        }),
        linkstatic = True,
        tags = ["manual"],
        textual_hdrs = textual_hdrs,
        deps = deps,
        **kwargs
    )
    native.filegroup(
        name = name + "_object",
        srcs = [name + "_compiled"],
        output_group = "compilation_outputs",
        tags = ["manual"],
        **kwargs
    )
    native.genrule(
        name = name + "_gch",
        srcs = [name + ".cc", name + "_object"],
        outs = [name + ".h", name + ".h.gch"],
        cmd = "cp $(location {0}.cc) $(location {0}.h) && cp $(location {0}_object) $(location {0}.h.gch)".format(name),
        tags = [
            "manual",
            "no-cache",  # a copy of a large file that is in the cache already
        ],
        **kwargs
    )
    cc_library(
        name = name,
        # Clang compares the sizes of the headers with those that the result has been made of.
        textual_hdrs = textual_hdrs + [name + ".cc", name + ".h", name + ".h.gch"],
        deps = deps,
        **kwargs
    )
