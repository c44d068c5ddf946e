"""Rules that make C++ code and descriptors from .proto files with the protoc of the package root."""

load("@base//:base.bzl", "ROOT")
load("@rules_cc//cc:defs.bzl", "cc_library")

def _protoc(root, arguments, srcs):
    """Returns a command that runs protoc for `srcs`."""
    return " ".join(
        [ROOT + "/usr/bin/protoc"] + arguments +
        ["$$(for dir in {0} $(BINDIR)/{0} proto external/googleapis third_party $(BINDIR)/third_party; do ".format(root) +
         "test -d $$dir && echo -I $$dir; done)"] +
        ["$(locations %s)" % src for src in srcs],
    )

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
        cmd = _protoc(root, ["--cpp_out=$(BINDIR)/" + root], srcs),
    )
    cc_library(
        name = name,
        srcs = [out for out in outs if out.endswith(".cc")],
        hdrs = [out for out in outs if out.endswith(".h")],
        includes = ["."] if root != "." else [],
        linkstatic = True,
        deps = deps + ["@stampgate//third_party:protobuf"],
        **kwargs
    )

def descriptor_set(name, srcs, root, deps = [], **kwargs):
    """Makes the file NAME.binpb: a serialized FileDescriptorSet with `srcs`, all files that they import, and comments.

    Args:
      name: the name of the file, without the ending.
      srcs: .proto files, or filegroups of them.
      root: the directory to which import paths are relative; it is relative to the execution root.
      deps: labels that, with the ending _protos, name the filegroups of the protos that `srcs` import.
      **kwargs: passed on to the rule.
    """
    native.genrule(
        name = name,
        srcs = srcs + [dep + "_protos" for dep in deps],
        outs = [name + ".binpb"],
        cmd = _protoc(root, ["--descriptor_set_out=$@", "--include_imports", "--include_source_info"], srcs),
        **kwargs
    )

def embedded_file(name, file, **kwargs):
    """Defines a cc_library with the content of `file` as read-only data.

    Args:
      name: the name of the library. The data is between the symbols NAME_begin and NAME_end.
      file: the file.
      **kwargs: passed on to the library.
    """
    native.genrule(
        name = name + "_source",
        srcs = [file],
        outs = [name + ".S"],
        # Bazel does not see that the assembler reads the file. The digest changes this source with the file.
        cmd = "printf '" + "\\n".join([
            "// %s",
            ".section .rodata",
            ".balign 16",
            ".global {0}_begin",
            "{0}_begin:",
            ".incbin \"%s\"",
            ".global {0}_end",
            "{0}_end:",
            ".section .note.GNU-stack, \"\", %%progbits",
            "",
        ]).format(name) + "' $$(sha256sum < $< | head -c 64) $< > $@",
    )
    cc_library(
        name = name,
        srcs = [name + ".S"],
        textual_hdrs = [file],  # in the sandbox of the assembler
        linkstatic = True,
        **kwargs
    )
