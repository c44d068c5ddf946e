"""A rule that generates C++ code from .proto files with the protoc of the package root."""

load("@base//:base.bzl", "ROOT")
load("@rules_cc//cc:defs.bzl", "cc_library")

def cc_protos(name, srcs, root, deps = [], **kwargs):
    """Defines a cc_library of the messages in `srcs`.

    Args:
      name: the name of the library. NAME_protos is a filegroup of the sources, for protos that import them.
      srcs: .proto files of this package, in the tree or made by a rule.
      root: the directory to which import paths are relative; it is relative to the execution root.
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
            [ROOT + "/usr/bin/protoc", "--cpp_out=$(BINDIR)/" + root, "-I", root] +
            ["$$(test -d $(BINDIR)/{0} && echo -I $(BINDIR)/{0})".format(root)] +
            ["$$(for dir in proto external/googleapis; do test -d $$dir && echo -I $$dir; done)"] +
            ["$(location %s)" % src for src in srcs],
        ),
    )
    cc_library(
        name = name,
        srcs = [out for out in outs if out.endswith(".cc")],
        hdrs = [out for out in outs if out.endswith(".h")],
        includes = ["."] if root != "." else [],
        # The program finds messages by their names at run time. Without this option, the linker would omit messages
        # whose symbols nothing refers to.
        alwayslink = True,
        linkstatic = True,
        deps = deps + ["@stampgate//third_party:protobuf"],
        **kwargs
    )
