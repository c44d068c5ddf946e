"""An aspect that checks source files with clang-tidy. Bazel checks a file again only if it, or a header, has changed.

    bazel build --aspects=//third_party:clang_tidy.bzl%clang_tidy --output_groups=clang_tidy TARGET...

With --define=clang_tidy=thorough, clang-tidy also runs its slowest checks, and does not use precompiled headers, so that
it finds missing includes.
"""

load("@base//:base.bzl", "ROOT")
load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

# The analyzer, and two checks that need four times as long as all others together, because they look at every
# declaration of the libraries.
_SLOWEST = ["clang-analyzer-*", "bugprone-reserved-identifier", "google-explicit-constructor"]

def _is_thorough(ctx):
    return ctx.var.get("clang_tidy") == "thorough"

# Returns the options with which Bazel compiles the files of `target`.
def _options(target, ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        cc_toolchain = toolchain,
        ctx = ctx,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    context = target[CcInfo].compilation_context

    copts = ctx.rule.attr.copts
    if "-include" in copts:  # a unit, which has precompiled headers
        copts = [] if _is_thorough(ctx) else ["-include", ctx.bin_dir.path + "/third_party/precompiled/standard.h"]
    variables = cc_common.create_compile_variables(
        cc_toolchain = toolchain,
        feature_configuration = features,
        include_directories = context.includes,
        preprocessor_defines = depset(transitive = [context.defines, context.local_defines]),
        quote_include_directories = context.quote_includes,
        system_include_directories = context.system_includes,
        use_pic = True,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + copts,
    )
    return cc_common.get_memory_inefficient_command_line(
        action_name = ACTION_NAMES.cpp_compile,
        feature_configuration = features,
        variables = variables,
    )

def _check(target, ctx, source):
    result = ctx.actions.declare_file("%s.clang-tidy/%s" % (ctx.label.name, source.basename))
    checks = [] if _is_thorough(ctx) else ["--checks=" + ",".join(["-" + check for check in _SLOWEST])]
    ctx.actions.run_shell(
        arguments = [result.path, ROOT + "/usr/bin/clang-tidy", "--quiet", "--warnings-as-errors=*"] + checks +
                    [source.path, "--"] + _options(target, ctx),
        # On standard error, clang-tidy only counts the warnings that it suppresses.
        command = 'result=$1; shift; "$@" >"$result" 2>/dev/null || { cat "$result"; exit 1; }',
        inputs = depset(
            [source, ctx.file._config],
            transitive = [each[CcInfo].compilation_context.headers for each in [target, ctx.attr._precompiled]],
        ),
        mnemonic = "ClangTidy",
        outputs = [result],
        progress_message = "Checking %s" % source.short_path,
    )
    return result

def _clang_tidy_impl(target, ctx):
    package = ctx.label.package

    # gateway/debian12 needs other libraries.
    is_ours = not ctx.label.workspace_name and not package.startswith("third_party") and package != "gateway/debian12"
    if not is_ours or not CcInfo in target:
        return [OutputGroupInfo(clang_tidy = depset())]
    sources = [source for source in ctx.rule.files.srcs if source.is_source and source.extension == "cc"]
    return [OutputGroupInfo(clang_tidy = depset([_check(target, ctx, source) for source in sources]))]

clang_tidy = aspect(
    attrs = {
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
        "_config": attr.label(
            allow_single_file = True,
            default = "//:.clang-tidy",
        ),
        "_precompiled": attr.label(default = "//third_party/precompiled:standard"),
    },
    fragments = ["cpp"],
    implementation = _clang_tidy_impl,
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
