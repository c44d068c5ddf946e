"""C++ code for .proto files, made by Debian's protoc."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def cc_protos(name, srcs, root, deps = [], **kwargs):
    """A cc_library of the messages in `srcs`.

    Args:
      name: the library; NAME_protos is the filegroup of the sources, for those who import them.
      srcs: .proto files of this package.
      root: the directory that import paths start from, as seen from the execution root.
      deps: other cc_protos libraries that `srcs` import from.
      **kwargs: passed on to the library.
    """
    native.filegroup(
        name = name + "_protos",
        srcs = srcs + [dep + "_protos" for dep in deps],
        **kwargs
    )
    outs = []
    for src in srcs:
        outs += [src.replace(".proto", ".pb.h"), src.replace(".proto", ".pb.cc")]
    native.genrule(
        name = name + "_gen",
        srcs = srcs + [dep + "_protos" for dep in deps],
        outs = outs,
        testonly = kwargs.get("testonly"),
        cmd = " ".join(
            ["/usr/bin/protoc", "--cpp_out=$(BINDIR)/" + root, "-I", root] +
            ["$$(for dir in proto external/googleapis; do test -d $$dir && echo -I $$dir; done)"] +
            ["$(location %s)" % src for src in srcs],
        ),
    )
    cc_library(
        name = name,
        srcs = [out for out in outs if out.endswith(".cc")],
        hdrs = [out for out in outs if out.endswith(".h")],
        includes = ["."] if root != "." else [],
        # A message is found by name at run time; nobody refers to its symbols.
        alwayslink = True,
        linkstatic = True,
        deps = deps + ["@stampgate//third_party:protobuf"],
        **kwargs
    )
